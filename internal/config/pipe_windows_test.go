package config

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
