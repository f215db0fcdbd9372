// Package secret finds keys, tokens and passwords with the rules of gitleaks, besides
// those that package reverie has by itself. Importing it is enough:
//
//	import _ "reverie/secret"
//
// as image codecs are: from then on [reverie.FindSecrets] knows them too. The root package
// stays free of what gitleaks brings along, for the sake of those who only import the
// client.
package secret

import (
	"sync"

	"github.com/zricethezav/gitleaks/v8/detect"

	"reverie"
)

func init() { reverie.RegisterDetector("gitleaks", find) }

// detector is made once, and when it is first needed: to make it is not safe for
// concurrent use, and takes some 50 ms.
var detector = sync.OnceValues(detect.NewDetectorDefaultConfig)

func find(text string) []reverie.Finding {
	d, err := detector()
	if err != nil {
		panic("the rules of gitleaks cannot be read: " + err.Error()) // they are compiled in
	}
	_ = d.DetectString(text)
	return nil
}
