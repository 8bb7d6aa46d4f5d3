//go:build unix && !linux && !darwin

package durable

import (
	"errors"
	"os"
)

func exchange(string, string) error { return errors.ErrUnsupported }

func keepAttributes(string, *os.File) error { return nil }
