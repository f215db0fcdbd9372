package entity

import (
	"testing"

	"reverie/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
