package logdaemon

import (
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/florete/flor/conformance/internal/trial"
)

// Daemon is a log daemon. Its methods are for the goroutine of the case.
type Daemon struct {
	t      *trial.T
	path   string
	socket *socket
	marks  int // sent by settle, so far
}

// socket is one socket of the daemon, and who reads it.
type socket struct {
	conn  *net.UnixConn
	ended chan struct{} // closed when nobody reads it any more; nil: nobody ever did

	mu      sync.Mutex
	records []string
	seen    map[string]chan struct{} // marks that are awaited
}

// Listen starts a log daemon at a path, which keeps what comes. The words of a
// failure have the end of it.
func Listen(t *trial.T, path string) *Daemon {
	d := Silent(t, path)
	d.socket.keep()
	t.Note(d.lastWords)
	return d
}

// Silent is a daemon that takes nothing from its socket.
func Silent(t *trial.T, path string) *Daemon {
	d := &Daemon{t: t, path: path}
	d.socket = d.listen(path)
	t.Cleanup(d.Close)
	return d
}

// Path is where it listens.
func (d *Daemon) Path() string { return d.path }

func (d *Daemon) listen(path string) *socket {
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	d.t.Check(err, "listen as a log daemon")
	return &socket{conn: conn, seen: map[string]chan struct{}{}}
}

// connect makes a socket that sends to the daemon.
func (d *Daemon) connect() (*net.UnixConn, error) {
	return net.DialUnix("unixgram", nil, &net.UnixAddr{Name: d.path, Net: "unixgram"})
}

// Sink is a connected socket to the daemon, as an agent hands it to a workload: a
// send that may wait does so.
func (d *Daemon) Sink() *os.File {
	conn, err := d.connect()
	d.t.Check(err, "connect to the log daemon")
	defer conn.Close()
	file, err := conn.File()
	d.t.Check(err, "take the descriptor of the log daemon")
	d.t.Cleanup(func() { _ = file.Close() })
	d.t.Check(syscall.SetNonblock(int(file.Fd()), false), "make the descriptor of the log daemon wait")
	return file
}

// Restart opens a new socket at the daemon's path, forgets what came, and closes the
// old one; there is one at any time, so that whatever is logged meanwhile has where
// to go.
func (d *Daemon) Restart() {
	old, next := d.socket, d.path+".new"
	d.socket = d.listen(next)
	d.t.Check(os.Rename(next, d.path), "listen as a log daemon")
	old.close()
	d.socket.keep()
}

// Close ends the daemon and removes its socket.
func (d *Daemon) Close() {
	d.socket.close()
	_ = os.Remove(d.path)
}

// close ends the socket for those who send to it, also while a process of another
// case that is just being started still has it.
func (s *socket) close() {
	_ = s.conn.CloseRead()
	_ = s.conn.Close()
	if s.ended != nil {
		<-s.ended
	}
}

// keep reads the socket until it is closed.
func (s *socket) keep() {
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		record := make([]byte, 64<<10)
		for {
			n, err := s.conn.Read(record)
			if err != nil {
				return
			}
			s.take(string(record[:n]))
		}
	}()
}

func (s *socket) take(record string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if awaited, ok := s.seen[record]; ok {
		close(awaited)
		delete(s.seen, record)
		return
	}
	s.records = append(s.records, record)
}

// Records are what was sent to the daemon so far, a datagram each.
func (d *Daemon) Records() []string {
	if d.socket.ended != nil {
		d.settle()
	}
	d.socket.mu.Lock()
	defer d.socket.mu.Unlock()
	return append([]string(nil), d.socket.records...)
}

// settle waits until everything has been read that was sent before: a datagram of our
// own comes after it.
func (d *Daemon) settle() {
	conn, err := d.connect()
	if err != nil {
		return // closed: nothing more comes
	}
	defer conn.Close()
	d.marks++
	mark := "\x00mark " + strconv.Itoa(d.marks)
	read := make(chan struct{})
	d.socket.mu.Lock()
	d.socket.seen[mark] = read
	d.socket.mu.Unlock()
	if _, err := conn.Write([]byte(mark)); err != nil {
		return
	}
	select {
	case <-read:
	case <-d.socket.ended:
	case <-d.t.Context().Done():
	}
}

func (d *Daemon) lastWords() string {
	if all := strings.Join(d.Records(), "\n"); all != "" {
		return "the log has " + trial.Quote(all)
	}
	return ""
}

// Fill sends datagrams to the daemon until its socket takes no more from anybody:
// a daemon that is stuck. What one sender may have on its way can be less than
// what the daemon's queue holds, so it takes several.
func (d *Daemon) Fill() {
	const most = 1 << 10 // senders, far over any system's limit
	for range most {
		if d.fillFromOne() == 0 {
			return
		}
	}
	d.t.Fatalf("the log daemon's socket cannot be filled on this machine")
}

// fillFromOne sends until the socket takes no more from this sender, and returns
// how many datagrams it took.
func (d *Daemon) fillFromOne() (sent int) {
	conn, err := d.connect()
	d.t.Check(err, "connect to the log daemon")
	defer conn.Close()
	raw, err := conn.SyscallConn()
	d.t.Check(err, "fill the log daemon's socket")
	err = raw.Control(func(fd uintptr) {
		for syscall.Sendto(int(fd), []byte("x"), syscall.MSG_DONTWAIT, nil) == nil {
			sent++
		}
	})
	d.t.Check(err, "fill the log daemon's socket")
	return sent
}
