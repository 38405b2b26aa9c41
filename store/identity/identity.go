package identity

import (
	"cmp"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/florete/flor/envelope/schema"
	"github.com/florete/flor/store/durable"
	"github.com/florete/flor/store/internal/anchor"
)

// Names inside an identity directory.
const (
	CAName     = anchor.CAName
	ReteName   = anchor.ReteName
	CertsDir   = "certs"
	CertSuffix = ".crt"
	KeySuffix  = ".key"
)

// MaxFile is the largest file that is read, in bytes.
const MaxFile = anchor.MaxFile

// Store reads the identity directory of a scope. It holds no key in memory and
// sees what enrolment replaces. Its methods may be called from several
// goroutines.
type Store struct {
	dir string
	td  spiffeid.TrustDomain
	ca  *x509.Certificate
	now func() time.Time
}

// Open reads the anchor of the identity directory dir. What cannot be used is
// refused with reason BadAnchor.
func Open(dir string) (*Store, error) {
	s := &Store{dir: dir, now: time.Now}
	err := s.within(func(fsys durable.FS) (err error) {
		s.td, s.ca, err = anchor.Read(fsys, ".")
		return err
	})
	if err != nil {
		return nil, refuse(BadAnchor, spiffeid.ID{}, "%s: %w", dir, err)
	}
	return s, nil
}

// within runs f on one handle of the directory: enrolment replaces the
// directory as a whole, so what f reads comes from one enrolment (SET-8).
func (s *Store) within(f func(durable.FS) error) error {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(f(durable.OS(root)), root.Close())
}

// TrustDomain returns the trust domain that enrolment pinned.
func (s *Store) TrustDomain() spiffeid.TrustDomain { return s.td }

// CA returns the certificate that enrolment pinned.
func (s *Store) CA() *x509.Certificate { return s.ca }

// Bundle returns the trust bundle of the scope: its one CA.
func (s *Store) Bundle() (*x509bundle.Bundle, error) {
	return x509bundle.FromX509Authorities(s.td, []*x509.Certificate{s.ca}), nil
}

// SVID reads a principal's certificate and key and checks them by SET-8. A
// principal without material gives an error that is [ErrAbsent]; every other
// refusal is a *Refusal with its reason.
func (s *Store) SVID(id spiffeid.ID) (*x509svid.SVID, error) {
	if id.TrustDomain() != s.td {
		return nil, refuse(WrongDomain, id, "this scope is of the trust domain %s", s.td)
	}
	if _, err := schema.KindOf(id); err != nil {
		return nil, refuse(WrongKind, id, "%w", err)
	}
	var certPEM, keyPEM []byte
	err := s.within(func(fsys durable.FS) (err error) {
		stem := path.Join(CertsDir, schema.Leaf(id))
		if certPEM, err = fsys.ReadFile(stem+CertSuffix, MaxFile); err != nil {
			return err
		}
		keyPEM, err = fsys.ReadFile(stem+KeySuffix, MaxFile)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(Absent, id, "%w: enrol this node with a bundle that has it", err)
	}
	if err != nil {
		return nil, refuse(Unreadable, id, "%w", err)
	}
	return ParseSVID(certPEM, keyPEM, s.ca, id, s.now())
}

// Certificate is what status tells of one certificate.
type Certificate struct {
	File        string      // name below certs/
	ID          spiffeid.ID // zero where the file is no certificate with one SPIFFE ID
	NotBefore   time.Time
	NotAfter    time.Time
	Fingerprint string
	Err         error // why it cannot be read; nil when it can
}

// Certificates lists every certificate in the store by file name, without
// judging it and without reading a key. One that cannot be read, or whose key is
// not there, is listed with its error; the latter is [ErrAbsent].
func (s *Store) Certificates() ([]Certificate, error) {
	var list []Certificate
	err := s.within(func(fsys durable.FS) error {
		entries, err := fsys.ReadDir(CertsDir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), CertSuffix) {
				list = append(list, describe(fsys, e.Name()))
			}
		}
		return nil
	})
	slices.SortFunc(list, func(a, b Certificate) int { return cmp.Compare(a.File, b.File) })
	return list, err
}

func describe(fsys durable.FS, file string) Certificate {
	c := Certificate{File: file}
	text, err := fsys.ReadFile(path.Join(CertsDir, file), MaxFile)
	if err != nil {
		c.Err = err
		return c
	}
	cert, err := anchor.ParseCertificate(text)
	if err != nil {
		c.Err = err
		return c
	}
	c.NotBefore, c.NotAfter, c.Fingerprint = cert.NotBefore, cert.NotAfter, Fingerprint(cert)
	if c.ID, c.Err = x509svid.IDFromCert(cert); c.Err == nil {
		c.Err = keyAbsent(fsys, c.ID, strings.TrimSuffix(file, CertSuffix)+KeySuffix)
	}
	return c
}

// keyAbsent refuses a certificate whose key is not there: nobody can use it.
func keyAbsent(fsys durable.FS, id spiffeid.ID, file string) error {
	_, err := fsys.Lstat(path.Join(CertsDir, file))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(Absent, id, "its key %s is missing", file)
	case err != nil:
		return refuse(Unreadable, id, "%w", err)
	}
	return nil
}
