//go:build !linux

package main

import (
	"context"
	"errors"
	"io"
)

func soak(context.Context, plan, io.Writer) (*recording, error) {
	return nil, errors.New("a soak needs the network namespaces of Linux")
}
