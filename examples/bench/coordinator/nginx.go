package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// nginxConfig serves a directory as an operator would who wants it to be fast.
const nginxConfig = `daemon off;
worker_processes auto;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
%[3]s
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  default_type application/json;
  server { listen %[2]s; root %[1]s/www; }
}
`

// nginx is one that serves one file.
type nginx struct {
	cmd       *exec.Cmd
	url, etag string
}

func startNginx(ctx context.Context, dir string, set []byte) (*nginx, error) {
	program, err := findNginx()
	if err != nil {
		return nil, err
	}
	home, address, err := prepareNginx(dir, set)
	if err != nil {
		return nil, err
	}
	n := &nginx{url: "http://" + address + "/set.json"}
	n.cmd = exec.CommandContext(ctx, program, "-p", home, "-c", filepath.Join(home, "nginx.conf"))
	n.cmd.Stderr = os.Stderr
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	if err := n.await(ctx, set); err != nil {
		_, err = n.stop(err)
		return nil, err
	}
	return n, nil
}

func findNginx() (string, error) {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", &missingProgram{"nginx"}
}

// prepareNginx writes what it serves and its configuration.
func prepareNginx(dir string, set []byte) (home, address string, err error) {
	home = filepath.Join(dir, "nginx")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	address = free.Addr().String()
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // its workers must reach the directory
	}
	config := fmt.Sprintf(nginxConfig, home, address, user)
	return home, address, errors.Join(free.Close(),
		os.MkdirAll(filepath.Join(home, "www"), 0o755),
		os.WriteFile(filepath.Join(home, "www", "set.json"), set, 0o644),
		os.WriteFile(filepath.Join(home, "nginx.conf"), []byte(config), 0o644))
}

// await waits until it serves the set, byte for byte.
func (n *nginx) await(ctx context.Context, set []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		body, etag, err := fetch(ctx, n.url)
		if err == nil && bytes.Equal(body, set) {
			n.etag = etag
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("nginx does not serve the set: %w", err)
		}
	}
}

// stop ends it, adds what fails then to err, and tells what processor time it and
// its workers have used.
func (n *nginx) stop(err error) (time.Duration, error) {
	err = errors.Join(err, n.cmd.Process.Signal(syscall.SIGQUIT), n.cmd.Wait())
	return n.cmd.ProcessState.UserTime() + n.cmd.ProcessState.SystemTime(), err
}
