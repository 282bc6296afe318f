"""Certificates and keys of a federation: a certificate authority of its own, a server's certificate, keys of nodes."""

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hideseek.errors import BadInput
from hideseek.files import new_file

AUTHORITY, AUTHORITY_KEY = "ca.crt", "ca.key"
SERVER, SERVER_KEY = "server.crt", "server.key"
NODE_KEY, NODE_PUBLIC = "key", "key.pub"
LASTS = timedelta(days=365)
EARLIER = timedelta(hours=1)  # that certificates hold already: clocks differ


def write_certificates(folder: Path, hosts: Sequence[str]) -> None:
    """Write an authority, and a server's certificate that it signed for these names and addresses."""
    authority, server = generate_private_key(SECP384R1()), generate_private_key(SECP384R1())
    name = _name("hideseek federation")
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    root = (
        _certificate(name, name, authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(authority, hashes.SHA384())
    )
    signed = (
        _certificate(_name(hosts[0]), name, server)
        .add_extension(x509.SubjectAlternativeName([alternative(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(authority, hashes.SHA384())
    )
    for certificate, path in ((root, AUTHORITY), (signed, SERVER)):
        with new_file(folder / path) as file:
            file.write(certificate.public_bytes(Encoding.PEM))
    for key, path in ((authority, AUTHORITY_KEY), (server, SERVER_KEY)):
        with new_file(folder / path, mode=0o600) as file:
            file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def write_node_key(folder: Path) -> None:
    """Write a key by which a node signs in, as `ssh-keygen -t ecdsa -b 384` does."""
    key = generate_private_key(SECP384R1())
    with new_file(folder / NODE_KEY, mode=0o600) as file:
        file.write(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    with new_file(folder / NODE_PUBLIC) as file:
        file.write(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) + b"\n")


def alternative(host: str) -> x509.GeneralName:
    """Give the name of a host as certificates hold it: an address, or a name of the domain name system."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return x509.DNSName(host.encode("idna").decode("ascii"))
    except ValueError:
        raise BadInput(f"{host!r} is neither a name nor an address of a machine.") from None


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common[:64])])


def _certificate(subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(now + LASTS)
    )


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates, key_cert_sign=signs_certificates, crl_sign=signs_certificates,
        content_commitment=False, key_encipherment=False, data_encipherment=False, key_agreement=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip
