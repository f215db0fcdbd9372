package server

import (
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// limit is what a request may take.
type limit struct {
	time   time.Duration // until the answer stands
	body   int64         // bytes
	stream bool          // its body takes its time, as long as bytes keep coming
}

const (
	stall      = 30 * time.Second // without a byte of a stream, or for a client to take an answer
	streamTime = time.Hour        // of a whole stream
)

// limitOf is what a request may take.
func (s *Server) limitOf(r *http.Request) limit {
	if r.Method == http.MethodPost {
		parts := strings.Split(r.URL.EscapedPath(), "/") // a group's id is one of them, whatever it is
		switch {
		case len(parts) == 5 && parts[1] == "v1" && parts[2] == "groups" && parts[4] == "messages":
			return limit{time: streamTime, body: s.opts.MaxMessagesBody, stream: true}
		case len(parts) == 4 && parts[1] == "memory" && parts[2] == "evolve",
			len(parts) == 5 && parts[1] == "ui" && parts[2] == "groups" && parts[4] == "evolve":
			return limit{time: s.opts.EvolveWait + s.opts.RequestTimeout, body: s.opts.MaxBody}
		}
	}
	return limit{time: s.opts.RequestTimeout, body: s.opts.MaxBody}
}

// bound bounds the body, and how long the client may take to send it and to take the
// answer. The deadlines are the connection's, since a read that waits for bytes looks at
// no context.
func (x *exchange) bound() {
	control, r := x.control(), x.request
	_ = control.SetWriteDeadline(time.Now().Add(x.limit.time + stall)) // it may be no connection, here and below
	if r.Body == nil || r.Body == http.NoBody {
		_ = control.SetReadDeadline(time.Time{})
		return
	}
	_ = control.SetReadDeadline(time.Now().Add(x.limit.time))
	if x.limit.stream {
		x.answer.taking = stall
	}
	r.Body = &body{ReadCloser: http.MaxBytesReader(x.answer.ResponseWriter, r.Body, x.limit.body), control: control,
		stream: x.limit.stream, until: time.Now().Add(x.limit.time)}
}

// body is what a client sends.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	stream  bool
	until   time.Time // when all of it must be there
}

// Read gives a stream more time with each piece. Once all is there, nothing more is
// waited for: a deadline that passes while the answer is made would cancel the request.
func (b *body) Read(p []byte) (int, error) {
	if b.stream {
		next := time.Now().Add(stall)
		if next.After(b.until) {
			next = b.until
		}
		_ = b.control.SetReadDeadline(next)
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Files that are left to the database, the log and whatever else is open, and connections
// that are enough for anybody.
const (
	otherFiles = 128
	mostConns  = 50_000
)

// connSize is what an idle connection takes, in bytes, as measured.
const connSize = 24 << 10

// roomForConns is how many connections the process has files and, where it is told how much it
// may use (GOMEMLIMIT), memory for: half of that.
func roomForConns() int {
	return min(freeFiles(), int(min(debug.SetMemoryLimit(-1)/2/connSize, mostConns)))
}

// freeFiles is how many connections the process may have open.
func freeFiles() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur > mostConns+otherFiles {
		return mostConns
	}
	return max(int(files.Cur)-otherFiles, int(files.Cur)/2, 1)
}
