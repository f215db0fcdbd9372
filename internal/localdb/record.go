package localdb

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// record is what a starter leaves for the supervisor: how to run the server.
type record struct {
	BinDir   string            `json:"bin_dir"`
	Settings map[string]string `json:"settings,omitempty"`
	Linger   time.Duration     `json:"linger_ns"`
}

const recordName = "server.json"

// write replaces the record in one step.
func (r record) write(loc Location) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write how to run the private database: %w", err)
	}
	draft := loc.path(recordName + ".new")
	f, err := openShared(draft, os.O_WRONLY|os.O_TRUNC)
	if err != nil {
		return fmt.Errorf("write how to run the private database: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(draft, loc.path(recordName))
	}
	if err != nil {
		return fmt.Errorf("write how to run the private database: %w", err)
	}
	return nil
}

func readRecord(loc Location) (record, error) {
	var r record
	text, err := os.ReadFile(loc.path(recordName))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read how to run the private database: %w", err)
	}
	return r, nil
}
