"""Keys, signatures, certificates and ciphers; nothing printed depends on the random keys."""

import datetime
import sys

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives import hashes, hmac, padding, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.asymmetric import padding as rsa_padding
from cryptography.hazmat.primitives.ciphers import Cipher, aead, algorithms, modes
from cryptography.hazmat.primitives.kdf import hkdf, pbkdf2, scrypt

message = bytes(range(256)) * int(sys.argv[1])
digest = hashes.Hash(hashes.SHA256())
digest.update(message)
print("sha256", digest.finalize().hex()[:16])
code = hmac.HMAC(b"k" * 32, hashes.SHA512())
code.update(message)
print("hmac", code.finalize().hex()[:16])
print("pbkdf2", pbkdf2.PBKDF2HMAC(hashes.SHA256(), 16, b"salt", 2000).derive(b"secret").hex())
print("scrypt", scrypt.Scrypt(b"salt", 16, 1024, 8, 1).derive(b"secret").hex())
print("hkdf", hkdf.HKDF(hashes.SHA256(), 16, None, b"info").derive(b"secret").hex())
padder = padding.PKCS7(128).padder()
padded = padder.update(message[:-5]) + padder.finalize()
cipher = Cipher(algorithms.AES(b"k" * 32), modes.CBC(b"i" * 16)).encryptor()
print("aes", (cipher.update(padded) + cipher.finalize())[-8:].hex())
for kind in (aead.AESGCM, aead.ChaCha20Poly1305, aead.AESCCM):
    box = kind(b"k" * 32)
    sealed = box.encrypt(b"n" * 12, message[:500], b"more")
    print(
        kind.__name__, sealed[-8:].hex(), box.decrypt(b"n" * 12, sealed, b"more") == message[:500]
    )
token = Fernet(key := Fernet.generate_key()).encrypt(message)
print("fernet", Fernet(key).decrypt(token) == message)
try:
    Fernet(Fernet.generate_key()).decrypt(token)
except InvalidToken:
    print("fernet refuses")
rsa_key, ec_key, ed_key = (
    rsa.generate_private_key(65537, 2048),
    ec.generate_private_key(ec.SECP256R1()),
    ed25519.Ed25519PrivateKey.generate(),
)
pss = rsa_padding.PSS(rsa_padding.MGF1(hashes.SHA256()), 32)
rsa_key.public_key().verify(
    rsa_key.sign(message, pss, hashes.SHA256()), message, pss, hashes.SHA256()
)
ec_key.public_key().verify(
    ec_key.sign(message, ec.ECDSA(hashes.SHA256())), message, ec.ECDSA(hashes.SHA256())
)
ed_key.public_key().verify(ed_key.sign(message), message)
try:
    ed_key.public_key().verify(bytes(64), message)
except InvalidSignature:
    print("signature refused")
mine, theirs = x25519.X25519PrivateKey.generate(), x25519.X25519PrivateKey.generate()
print("exchange", mine.exchange(theirs.public_key()) == theirs.exchange(mine.public_key()))
pem = rsa_key.private_bytes(
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.BestAvailableEncryption(b"p"),
)
print("pem", serialization.load_pem_private_key(pem, b"p").key_size)
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "corpus")])
begin = datetime.datetime(2024, 1, 1)
certificate = (
    x509.CertificateBuilder()
    .subject_name(name)
    .issuer_name(name)
    .public_key(ec_key.public_key())
    .serial_number(7)
    .not_valid_before(begin)
    .not_valid_after(begin + datetime.timedelta(30))
    .add_extension(x509.BasicConstraints(True, None), critical=True)
    .sign(ec_key, hashes.SHA256())
)
again = x509.load_pem_x509_certificate(certificate.public_bytes(serialization.Encoding.PEM))
print("certificate", again.subject.rfc4514_string(), again.serial_number, len(again.extensions))
