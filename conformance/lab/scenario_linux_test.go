package lab

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/florete/flor/conformance/lab/traffic"
	"github.com/florete/flor/conformance/lab/udplink"
	"github.com/florete/flor/supervise/control"
)

// AGT-3, AGT-4: nodes need nobody to start, and find the coordinator when it is
// there.
func TestLabColdStartInAnyOrder(t *testing.T) {
	s := scenario(t, "cold start of 5 nodes")
	orders := [][]string{
		{Management, Alpha, Beta, Laptop, Desk},
		{Desk, Laptop, Beta, Alpha, Management},
		Nodes(),
	}
	chance := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	chance.Shuffle(len(orders[2]), func(i, j int) { orders[2][i], orders[2][j] = orders[2][j], orders[2][i] })
	for _, order := range orders {
		s.coldStart(order)
	}
}

func (s *scene) coldStart(order []string) {
	for name := range s.Nodes {
		s.must(s.PowerOff(name))
	}
	for _, name := range order[:len(order)-1] {
		s.must(s.Nodes[name].Start())
		_, err := s.Nodes[name].Await(s.ctx, "serving", Serving)
		s.must(err)
	}
	began := time.Now()
	s.must(s.Nodes[order[len(order)-1]].Start())
	watch := s.asks("alice", "shop")
	s.awaitAnswered(watch)
	watch.Stop()
	answered := time.Since(began)
	s.must(s.AwaitPublished(s.ctx))
	s.saw(answered, "%s: alice waits for the shop after the last start", strings.Join(order, ", "))
	s.saw(time.Since(began), "the same: until all five are healthy and in step")
}

// AGT-4, SET-5: the loss of the relay stops nothing but change.
func TestLabManagementNodeDown(t *testing.T) {
	s := scenario(t, "management node down for 8 s")
	alice, download := s.asks("alice", "shop"), s.download("alice")
	s.must(s.PowerOff(Management))
	began := time.Now()
	refusal := s.took(func() error {
		_, err := s.Operator.Retectl(s.ctx, "publish")
		said := s.refused(err, 3)
		if !strings.Contains(last(said), "the management node cannot be reached from here") {
			t.Errorf("the operator was told: %q", said)
		}
		s.saw(0, "%s", last(said))
		return nil
	})
	s.must(s.PowerOff(Beta))
	boot := s.took(func() error {
		if err := s.Nodes[Beta].Start(); err != nil {
			return err
		}
		_, err := s.Nodes[Beta].Await(s.ctx, "serving", Serving)
		return err
	})
	s.pause(8*time.Second - time.Since(began))
	s.must(s.Nodes[Management].Start())
	back := s.took(func() error { return s.AwaitPublished(s.ctx) })
	s.Sources.Edits++
	publish := s.took(func() error { return s.Publish(s.ctx) })
	s.must(s.AwaitPublished(s.ctx))
	s.whole(download)
	seen := s.unharmed(alice, "alice asking the shop")
	s.saw(0, "alice: %d of %d questions answered, her download whole", seen.Answered, seen.Asked)
	s.saw(refusal, "the operator: until publish is refused")
	s.saw(boot, "beta, booted meanwhile: until it serves what it held")
	s.saw(back, "until all five are in step after the management node is back")
	s.saw(publish, "the next edit: compile and publish")
}

// AGT-4: who was away gets the newest set, not each in turn.
func TestLabNodeAwayForThreePublishes(t *testing.T) {
	s := scenario(t, "beta away for three publishes")
	shop, stock := s.asks("alice", "shop"), s.asks("alice", "stock")
	s.awaitAnswered(stock)
	cut := time.Now()
	s.must(s.Host(Beta).Cable.Cut())
	for range 3 {
		s.Sources.Edits++
		s.must(s.Publish(s.ctx))
		s.must(s.AwaitPublished(s.ctx, Beta))
	}
	s.must(s.Host(Beta).Cable.Mend())
	mended := time.Now()
	s.awaitAnswered(stock)
	s.saw(time.Since(mended), "alice waits for the stock after beta is back")
	s.must(s.AwaitPublished(s.ctx))
	s.saw(time.Since(mended), "until beta holds the third set")
	s.saw(mended.Sub(cut), "beta was away")
	seen := stock.Stop()
	s.saw(seen.Silence, "alice without the stock, in one piece")
	s.unharmed(shop, "alice asking the shop")
	s.saw(0, "alice without the shop")
}

// AGT-4, VTX-5: both sides go on with what they have, and agree afterwards.
func TestLabPartitionDuringAPublish(t *testing.T) {
	s := scenario(t, "partition during a publish")
	near, far := s.asks("alice", "shop"), s.asks("bob", "shop")
	across := s.asks("bob", "stock")
	s.awaitAnswered(far)
	s.Sources.Edits++
	s.must(s.Compile(s.ctx))
	published := make(chan error, 1)
	go func() {
		_, err := s.Operator.Retectl(s.ctx, "publish")
		published <- err
	}()
	cut := time.Now()
	s.must(s.Trunk.Cut())
	s.must(<-published)
	s.must(s.AwaitPublished(s.ctx, Beta, Desk))
	s.pause(5*time.Second - time.Since(cut))
	s.must(s.Trunk.Mend())
	mended := time.Now()
	s.awaitAnswered(far)
	s.saw(time.Since(mended), "bob waits for the shop, which was beyond the cut, after it is mended")
	s.must(s.AwaitPublished(s.ctx))
	s.saw(time.Since(mended), "until both sides hold the published set")
	s.saw(mended.Sub(cut), "the partition")
	s.saw(far.Stop().Silence, "bob without the shop, in one piece")
	s.unharmed(near, "alice asking the shop on her side")
	s.unharmed(across, "bob asking the stock on his side")
	s.saw(0, "alice without the shop, bob without the stock: each on one side")
}

// VTX-5, CRD-1: a long and lossy way.
func TestLabLossAndDelay(t *testing.T) {
	s := scenario(t, "1 % loss, 80 ms round trip", func(_ *scene, o *Options) {
		o.Path = &udplink.Path{Delay: 40 * time.Millisecond, Loss: 0.01, Seed: 8}
	})
	alice, stock := s.asks("alice", "shop"), s.asks("alice", "stock")
	download := s.download("bob")
	began := time.Now()
	s.Sources.Edits++
	publish := s.took(func() error { return s.Publish(s.ctx) })
	s.must(s.AwaitPublished(s.ctx))
	s.saw(publish, "the operator: compile and publish")
	s.saw(time.Since(began), "until all five hold it")
	s.pause(5*time.Second - time.Since(began))
	seen := s.unharmed(alice, "alice asking the shop")
	s.saw(seen.Typical, "alice asking the shop, median of %d new connections", seen.Answered)
	s.saw(seen.Silence, "the longest that she waited")
	seen = s.unharmed(stock, "alice asking the stock")
	s.saw(seen.Typical, "alice asking the stock, which greets first, median of %d", seen.Answered)
	s.whole(download)
	counts := s.Link(Alpha).Counts()
	s.saw(0, "bob's download: %.1f MB, whole; of %d packets to and from alpha %d were lost", float64(download.Bytes())/1e6, counts.Forth+counts.Back, counts.Lost)
	if counts.Lost == 0 {
		s.t.Error("the lossy path lost nothing")
	}
}

// SET-5, SUP-9, VTX-7: a node whose plug was pulled comes back by itself.
func TestLabNodeRestarted(t *testing.T) {
	s := scenario(t, "alpha loses power and boots")
	shop, stock := s.asks("alice", "shop"), s.asks("alice", "stock")
	download := s.download("alice")
	s.awaitAnswered(shop)
	s.must(s.PowerOff(Alpha))
	off := time.Now()
	s.must(s.Nodes[Alpha].Start())
	s.awaitAnswered(shop)
	s.broken(download)
	s.saw(download.Ended().Sub(off), "alice's download: until she is told that it was cut (%v)", brief(download.Err()))
	s.must(s.AwaitPublished(s.ctx))
	s.saw(shop.Stop().Silence, "alice without the shop, in one piece")
	s.unharmed(stock, "alice asking the stock")
	s.saw(0, "alice without the stock")
}

func last(lines []string) string { return lines[len(lines)-1] }

// brief is the last part of an error's words.
func brief(err error) string {
	if err == nil {
		return ""
	}
	words := strings.Split(err.Error(), ": ")
	return words[len(words)-1]
}

// BND-3: new certificates for a node that runs.
func TestLabCertificateRenewed(t *testing.T) {
	s := scenario(t, "beta's certificates renewed by re-enrolment")
	shop, stock := s.asks("alice", "shop"), s.asks("alice", "stock")
	s.awaitAnswered(stock)
	before, err := s.Nodes[Beta].Control().Status(s.ctx)
	s.must(err)
	s.must(s.Nodes[Beta].Stop())
	s.must(s.Operator.Enrol(s.ctx, s.Nodes[Beta]))
	s.must(s.Nodes[Beta].Start())
	s.awaitAnswered(stock)
	s.must(s.AwaitPublished(s.ctx))
	after, err := s.Nodes[Beta].Control().Status(s.ctx)
	s.must(err)
	if !after.Identity[0].NotAfter.After(before.Identity[0].NotAfter) {
		t.Errorf("the certificate is valid until %v, as before", after.Identity[0].NotAfter)
	}
	s.saw(stock.Stop().Silence, "alice without the stock, in one piece: stop, issue, enrol, start")
	s.unharmed(shop, "alice asking the shop")
	s.saw(0, "alice without the shop")
}

// VTX-8, VTX-16: who is revoked is cut, and nobody else is.
func TestLabUserRevokedWhileDownloading(t *testing.T) {
	s := scenario(t, "bob's role taken away while he downloads")
	alices, bobs := s.download("alice"), s.download("bob")
	s.Sources.BobsRoles = []string{"clerk"}
	s.must(s.Compile(s.ctx))
	began := time.Now()
	_, err := s.Operator.Retectl(s.ctx, "publish")
	s.must(err)
	s.broken(bobs)
	s.saw(bobs.Ended().Sub(began), "bob: from publish to the cut of his download (%v)", brief(bobs.Err()))
	s.must(s.AwaitPublished(s.ctx))
	s.saw(time.Since(began), "until all five hold it")
	if _, err := s.As("bob").Dial(s.ctx, "shop"); !traffic.IsDenied(err) {
		t.Errorf("bob asks again and should be denied, got: %v", err)
	}
	s.whole(alices)
	s.saw(0, "alice: her download ran through it, whole: %.1f MB", float64(alices.Bytes())/1e6)
}

// SET-3, AGT-4: a full disk refuses change and nothing else.
func TestLabDiskFull(t *testing.T) {
	s := scenario(t, "beta's disk full for a publish", func(s *scene, o *Options) {
		o.Prepare = func(n *Node) error {
			if n.Name != Beta {
				return nil
			}
			return s.mountSmall(n.StateDir())
		}
	})
	stock := s.asks("alice", "stock")
	remove := s.fill(s.Nodes[Beta].StateDir())
	s.Sources.Edits++
	began := time.Now()
	s.must(s.Publish(s.ctx))
	s.must(s.AwaitPublished(s.ctx, Beta))
	s.saw(time.Since(began), "the four others: until they hold it")
	status, err := s.Nodes[Beta].Await(s.ctx, "unwell", func(d control.StatusDoc) bool { return len(d.Health) > 0 })
	s.must(err)
	s.saw(0, "flor agent status on beta: %s", status.Health[0])
	remove()
	freed := time.Now()
	s.must(s.AwaitPublished(s.ctx))
	s.saw(time.Since(freed), "until beta holds it too after space was made")
	seen := s.unharmed(stock, "alice asking the stock on beta")
	s.saw(0, "alice asking the stock on beta meanwhile: %d of %d answered", seen.Answered, seen.Asked)
}
