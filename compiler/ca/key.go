package ca

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

const (
	// Iterations is how many PBKDF2 rounds guard a new key (PKI-2).
	Iterations = 210_000
	// MaxIterations is the most that is accepted in a file: beyond, a file
	// could keep the reader busy for as long as its writer likes.
	MaxIterations = 1_000_000
	// MaxKeyFile is the most bytes that are read as a private key.
	MaxKeyFile = 64 << 10

	keyType         = "jwk+json" // RFC 7517 §7: what an encrypted JWK says it holds
	blockPrivateKey = "PRIVATE KEY"
	blockCert       = "CERTIFICATE"
	blockRequest    = "CERTIFICATE REQUEST"
)

// NewKey makes a private key. It does not fail where the operating system has
// randomness to give.
func NewKey() (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

// EncodeJWK writes key as a plain JWK (RFC 8037), with a newline at the end.
// Whoever reads the result holds the key: prefer EncryptJWK. What is no key is
// ReasonKeyUnsuitable.
func EncodeJWK(key ed25519.PrivateKey) ([]byte, error) {
	if err := checkPrivate(key); err != nil {
		return nil, err
	}
	text, err := json.Marshal(jose.JSONWebKey{Key: key, Algorithm: string(jose.EdDSA), Use: "sig"})
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return append(text, '\n'), nil
}

// EncryptJWK writes key as an encrypted JWK in compact JWE form (PKI-2):
// PBES2-HS512+A256KW with Iterations rounds, A256GCM. It takes a tenth of a second
// of a processor, on purpose. An empty passphrase is ReasonPassphraseRequired,
// what is no key ReasonKeyUnsuitable.
func EncryptJWK(key ed25519.PrivateKey, passphrase []byte) ([]byte, error) {
	if len(passphrase) == 0 {
		return nil, &Refusal{ReasonPassphraseRequired, errors.New("a key is not encrypted under an empty passphrase")}
	}
	plain, err := EncodeJWK(key)
	if err != nil {
		return nil, err
	}
	recipient := jose.Recipient{Algorithm: jose.PBES2_HS512_A256KW, Key: passphrase, PBES2Count: Iterations}
	options := new(jose.EncrypterOptions).WithContentType(keyType)
	encrypter, err := jose.NewEncrypter(jose.A256GCM, recipient, options)
	if err != nil {
		return nil, fmt.Errorf("encrypt key: %w", err)
	}
	sealed, err := encrypter.Encrypt(plain)
	if err != nil {
		return nil, fmt.Errorf("encrypt key: %w", err)
	}
	text, err := sealed.CompactSerialize()
	return append([]byte(text), '\n'), err
}

// DecodeJWK reads what EncodeJWK writes. What is no JWK, or is over MaxKeyFile, is
// ReasonKeyMalformed; another key than a private Ed25519 key ReasonKeyUnsuitable.
func DecodeJWK(text []byte) (ed25519.PrivateKey, error) {
	if len(text) > MaxKeyFile {
		return nil, tooLarge()
	}
	var jwk jose.JSONWebKey
	if err := jwk.UnmarshalJSON(text); err != nil {
		return nil, &Refusal{ReasonKeyMalformed, fmt.Errorf("not a JWK: %w", err)}
	}
	return privateKey(jwk.Key)
}

// DecryptJWK reads what EncryptJWK writes. A passphrase that does not fit is
// ReasonWrongPassphrase; so is a file that was altered, since authenticated
// encryption cannot tell the two apart. None at all is ReasonPassphraseRequired, a
// file with fewer than Iterations or more than MaxIterations rounds is
// ReasonWorkFactor; the rest is as for DecodeJWK.
func DecryptJWK(text, passphrase []byte) (ed25519.PrivateKey, error) {
	if len(text) > MaxKeyFile {
		return nil, tooLarge()
	}
	sealed, err := jose.ParseEncryptedCompact(string(bytes.TrimSpace(text)),
		[]jose.KeyAlgorithm{jose.PBES2_HS512_A256KW}, []jose.ContentEncryption{jose.A256GCM})
	if err != nil {
		return nil, &Refusal{ReasonKeyMalformed, fmt.Errorf("not an encrypted JWK: %w", err)}
	}
	if err := checkIterations(sealed.Header.ExtraHeaders["p2c"]); err != nil {
		return nil, err
	}
	if len(passphrase) == 0 {
		return nil, &Refusal{ReasonPassphraseRequired, errors.New("the key is encrypted; give its passphrase")}
	}
	plain, err := sealed.Decrypt(passphrase)
	if err != nil {
		return nil, &Refusal{ReasonWrongPassphrase, errors.New("the passphrase does not open the key (or the file was altered)")}
	}
	return DecodeJWK(plain)
}

// checkIterations judges the p2c header before any round is computed.
func checkIterations(header any) error {
	rounds, ok := header.(float64)
	if !ok {
		return &Refusal{ReasonWorkFactor, errors.New("the key file does not say how many rounds it takes")}
	}
	if rounds < Iterations || rounds > MaxIterations {
		return &Refusal{ReasonWorkFactor, fmt.Errorf("the key file asks for %.0f rounds, accepted are %d to %d", rounds, Iterations, MaxIterations)}
	}
	return nil
}

// EncodePEM writes key as PKCS#8 in PEM, unencrypted, for openssl and step. What is
// no key is ReasonKeyUnsuitable.
func EncodePEM(key ed25519.PrivateKey) ([]byte, error) {
	if err := checkPrivate(key); err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockPrivateKey, Bytes: der}), nil
}

// DecodePEM reads exactly one PKCS#8 private key in PEM. Anything else, and more
// than MaxKeyFile bytes, is ReasonKeyMalformed; another key than an Ed25519 one
// ReasonKeyUnsuitable.
func DecodePEM(text []byte) (ed25519.PrivateKey, error) {
	if len(text) > MaxKeyFile {
		return nil, tooLarge()
	}
	der, err := onlyBlock(text, blockPrivateKey)
	if err != nil {
		return nil, &Refusal{ReasonKeyMalformed, err}
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, &Refusal{ReasonKeyMalformed, fmt.Errorf("not a PKCS#8 key: %w", err)}
	}
	return privateKey(key)
}

// EncodeCertificate writes cert, which is not nil, in PEM.
func EncodeCertificate(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockCert, Bytes: cert.Raw})
}

// DecodeCertificate reads exactly one certificate in PEM; anything else is
// ReasonCertificateMalformed. Its caller bounds what it gives.
func DecodeCertificate(text []byte) (*x509.Certificate, error) {
	der, err := onlyBlock(text, blockCert)
	if err != nil {
		return nil, &Refusal{ReasonCertificateMalformed, err}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, &Refusal{ReasonCertificateMalformed, err}
	}
	return cert, nil
}

// DecodeRequest reads exactly one PKCS#10 certificate request in PEM; anything else
// is ReasonRequestRefused. Its caller bounds what it gives, and Sign judges what
// is asked for.
func DecodeRequest(text []byte) (*x509.CertificateRequest, error) {
	der, err := onlyBlock(text, blockRequest)
	if err != nil {
		return nil, &Refusal{ReasonRequestRefused, err}
	}
	request, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return nil, &Refusal{ReasonRequestRefused, err}
	}
	return request, nil
}

// onlyBlock takes the one PEM block of text. A second block is refused: a file
// of two certificates would have two meanings.
func onlyBlock(text []byte, kind string) ([]byte, error) {
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("the file is not PEM; expected a block %q", kind)
	}
	if block.Type != kind {
		return nil, fmt.Errorf("the file holds a PEM block %q; expected %q", block.Type, kind)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("the file holds more than one %q", kind)
	}
	return block.Bytes, nil
}

func privateKey(key any) (ed25519.PrivateKey, error) {
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, &Refusal{ReasonKeyUnsuitable, fmt.Errorf("the file holds a %T, and only private Ed25519 keys are used", key)}
	}
	return private, nil
}

func tooLarge() error {
	return &Refusal{ReasonKeyMalformed, fmt.Errorf("the file is over %d bytes, which no key is", MaxKeyFile)}
}
