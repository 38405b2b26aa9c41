// Package identity reads the trust anchor and the X.509-SVIDs of a scope: its
// identity directory, which enrolment writes and replaces as a whole (SET-8).
//
// flor-vertex gets the certificates and keys of the principals it acts for from
// it, the agent their validity for status, and store/bundle its checks.
//
//	identities, err := identity.Open(scope.IdentityDir())
//	svid, err := identities.SVID(id)
//	if errors.Is(err, identity.ErrAbsent) { … } // not enrolled here; look again later
//
// [Store.SVID] checks on every call what SET-8 asks for: the certificate chains
// to ca.crt, is valid now, has exactly one URI SAN, equal to the ID asked for,
// and exactly the usages of its kind (PKI-3), and the key is its own. A
// certificate and its key always come from one enrolment, because both are read
// through one directory handle. Files are at most 64 KiB; symbolic links are
// refused. Every refusal is a [Refusal] with a code (FL21xx).
//
// There are no intermediate certificates: the root's path length is 0, and a
// .crt file holds exactly one certificate.
package identity
