package traffic

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"time"
)

// Download is one running transfer of the shop's catalogue.
type Download struct {
	started chan struct{} // closed when the first bytes have come
	done    chan struct{} // closed when it has ended
	bytes   int64
	err     error
	ended   time.Time
}

// StartDownload begins a transfer, which runs until the shop finishes it, it
// fails, or ctx is done.
func StartDownload(ctx context.Context, client *Client) *Download {
	d := &Download{started: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(d.done)
		d.err = d.run(ctx, client)
		d.ended = time.Now()
	}()
	return d
}

// Started is closed when the first bytes have come.
func (d *Download) Started() <-chan struct{} { return d.started }

// Done is closed when the transfer has ended; the other methods are for
// afterwards.
func (d *Download) Done() <-chan struct{} { return d.done }

// Err is nil when every byte came and fits the digest.
func (d *Download) Err() error { return d.err }

// Bytes is how many came.
func (d *Download) Bytes() int64 { return d.bytes }

// Ended is when the transfer ended.
func (d *Download) Ended() time.Time { return d.ended }

func (d *Download) run(ctx context.Context, client *Client) error {
	response, err := client.open(ctx, "shop", "/catalogue")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	digest := sha256.New()
	if d.bytes, err = io.CopyN(digest, response.Body, chunkSize/2); err != nil {
		return err
	}
	close(d.started)
	rest, err := io.Copy(digest, response.Body)
	d.bytes += rest
	if err != nil {
		return err
	}
	if response.Trailer.Get("Digest") != hex.EncodeToString(digest.Sum(nil)) {
		return errors.New("the download ended, but its digest does not fit")
	}
	return nil
}
