package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/florete/flor/conformance/lab"
	"github.com/florete/flor/conformance/lab/traffic"
)

// user asks all the time.
type user struct {
	name  string
	watch *traffic.Watch
}

type users []user

// startUsers lets three of them ask until ctx is done: two services directly,
// and one that asks the other.
func startUsers(ctx context.Context, rete *lab.Network) users {
	alice, bob := rete.As("alice"), rete.As("bob")
	page := func(path string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := alice.Get(ctx, "shop", path)
			return err
		}
	}
	return users{
		{"alice asking the shop", traffic.StartWatch(ctx, page("/hello"))},
		{"alice asking the shop, which asks the stock", traffic.StartWatch(ctx, page("/price/lamp"))},
		{"bob asking the stock", traffic.StartWatch(ctx, func(ctx context.Context) error {
			_, err := traffic.AskStock(ctx, bob, "lamp")
			return err
		})},
	}
}

// print ends the watches and tells what was seen.
func (u users) print(out io.Writer) {
	for _, one := range u {
		seen := one.watch.Stop()
		fmt.Fprintf(out, "%s: %d of %d questions answered, typically in %v, longest silence %v\n", one.name,
			seen.Answered, seen.Asked, seen.Typical.Round(time.Microsecond), seen.Silence.Round(time.Millisecond))
	}
}
