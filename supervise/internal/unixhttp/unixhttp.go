// Package unixhttp is what the agent's control socket and the control channels
// of workloads have in common: JSON over HTTP/1.1 over a unix stream socket,
// with one form of error, {"error":{"code":"FLnnnn","message":"…"}} (AGT-9,
// SUP-11).
//
// A server listens with [Listen], routes with [Routes] and answers with
// [WriteJSON] and [WriteError]; a client asks with [Client.Do]. Answers of a
// client are bounded, bodies of requests are bounded by the server.
package unixhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// MaxAnswer limits an answer that a client reads, in bytes.
const MaxAnswer = 16 << 20

// headerTimeout limits how long a client may take to send its header.
const headerTimeout = 10 * time.Second

// Error is the body of an answer that is not 2xx.
type Error struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error prints code and words, and a code that the words begin with once.
func (e *Error) Error() string {
	if strings.HasPrefix(e.Message, e.Code) {
		return e.Message
	}
	return e.Code + ": " + e.Message
}

type errorBody struct {
	Error *Error `json:"error"`
}

// WriteJSON answers with a document.
func WriteJSON(w http.ResponseWriter, status int, doc any) {
	text, err := json.Marshal(doc)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":{"code":"","message":"the answer cannot be encoded"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone away is nobody's failure.
	_, _ = w.Write(append(text, '\n'))
}

// WriteError answers with an error.
func WriteError(w http.ResponseWriter, status int, code, message string) {
	WriteJSON(w, status, errorBody{&Error{Code: code, Message: message}})
}

// Route is one call of an API.
type Route struct {
	Method, Path string
	Handle       http.HandlerFunc
}

// Routes routes by http.ServeMux patterns. Another path is answered 404 with
// unknownPath as its code, another method 405 with wrongMethod.
func Routes(routes []Route, unknownPath, wrongMethod string) http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range routes {
		mux.HandleFunc(r.Method+" "+r.Path, r.Handle)
		methods[r.Path] = append(methods[r.Path], r.Method)
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		allow := strings.Join(allowed, ", ")
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", allow)
			WriteError(w, http.StatusMethodNotAllowed, wrongMethod, fmt.Sprintf("%s is called with %s", r.URL.Path, allow))
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		WriteError(w, http.StatusNotFound, unknownPath, fmt.Sprintf("there is no %s here", r.URL.Path))
	})
	return mux
}

// NewServer returns a server of h whose clients cannot hold a connection by
// never sending a request.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: headerTimeout}
}

// TooLarge reports whether err came of a body over the limit of an
// http.MaxBytesReader.
func TooLarge(err error) bool {
	over := (*http.MaxBytesError)(nil)
	return errors.As(err, &over)
}

// Client asks a server on a unix socket. It connects per request.
type Client struct{ http *http.Client }

// NewClient returns a client of the socket at path.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	return &Client{http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Do sends a request and returns the answer, whose body the caller closes.
// An answer that is not 2xx is an *[Error], with an empty code when it is not
// of that form.
func (c *Client) Do(ctx context.Context, method, target string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://socket"+target, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, readError(resp)
	}
	return resp, nil
}

// Read sends a request and returns the body of the answer.
func (c *Client) Read(ctx context.Context, method, target string, body io.Reader) ([]byte, error) {
	resp, err := c.Do(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return readBounded(resp.Body)
}

// JSON sends a document, if in is not nil, and decodes the answer into out.
func (c *Client) JSON(ctx context.Context, method, target string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	text, err := c.Read(ctx, method, target, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

func readError(resp *http.Response) error {
	text, _ := readBounded(resp.Body)
	var body errorBody
	if json.Unmarshal(text, &body) != nil || body.Error == nil {
		body.Error = &Error{Message: "an answer of an unknown form, " + resp.Status}
	}
	body.Error.Status = resp.StatusCode
	return body.Error
}

func readBounded(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxAnswer+1))
	if err == nil && len(text) > MaxAnswer {
		err = fmt.Errorf("the answer is larger than %d bytes", MaxAnswer)
	}
	return text, err
}
