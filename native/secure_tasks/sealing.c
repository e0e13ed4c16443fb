#include "sealing.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "enclave.h"

#ifdef TRIMTAB_OPENSSL
#include <openssl/evp.h>

struct sealer {
    EVP_CIPHER_CTX *sealing, *opening;
};

struct counted {
    unsigned char nonce[12];
};

static struct counted nonce_of(uint32_t block, uint64_t version) {
    struct counted counted;
    memcpy(counted.nonce, &block, sizeof block);
    memcpy(counted.nonce + sizeof block, &version, sizeof version);
    return counted;
}

/* The cipher is set up once: a process without system calls cannot get memory for it later. */
struct sealer *sealer_new(const unsigned char *key) {
    struct sealer *sealer = calloc(1, sizeof *sealer);
    if (!sealer) return NULL;
    sealer->sealing = EVP_CIPHER_CTX_new();
    sealer->opening = EVP_CIPHER_CTX_new();
    if (sealer->sealing && sealer->opening &&
        EVP_EncryptInit_ex(sealer->sealing, EVP_aes_256_gcm(), NULL, key, NULL) == 1 &&
        EVP_DecryptInit_ex(sealer->opening, EVP_aes_256_gcm(), NULL, key, NULL) == 1)
        return sealer;
    sealer_free(sealer);
    return NULL;
}

void sealer_free(struct sealer *sealer) {
    if (!sealer) return;
    EVP_CIPHER_CTX_free(sealer->sealing);
    EVP_CIPHER_CTX_free(sealer->opening);
    free(sealer);
}

bool seal(struct sealer *sealer, uint32_t block, uint64_t version, void *data, size_t bytes) {
    if (bytes <= ENCLAVE_TAG_BYTES || bytes > INT_MAX) return false;
    EVP_CIPHER_CTX *context = sealer->sealing;
    struct counted counted = nonce_of(block, version);
    int plain_bytes = (int)(bytes - ENCLAVE_TAG_BYTES), done = 0;
    unsigned char *text = data;
    return EVP_EncryptInit_ex(context, NULL, NULL, NULL, counted.nonce) == 1 &&
           EVP_EncryptUpdate(context, NULL, &done, counted.nonce, sizeof counted.nonce) == 1 &&
           EVP_EncryptUpdate(context, text, &done, text, plain_bytes) == 1 &&
           EVP_EncryptFinal_ex(context, text + plain_bytes, &done) == 1 &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, ENCLAVE_TAG_BYTES,
                               text + plain_bytes) == 1;
}

bool unseal(struct sealer *sealer, uint32_t block, uint64_t version, void *data, size_t bytes) {
    if (bytes <= ENCLAVE_TAG_BYTES || bytes > INT_MAX) return false;
    EVP_CIPHER_CTX *context = sealer->opening;
    struct counted counted = nonce_of(block, version);
    int plain_bytes = (int)(bytes - ENCLAVE_TAG_BYTES), done = 0;
    unsigned char *text = data;
    return EVP_DecryptInit_ex(context, NULL, NULL, NULL, counted.nonce) == 1 &&
           EVP_DecryptUpdate(context, NULL, &done, counted.nonce, sizeof counted.nonce) == 1 &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, ENCLAVE_TAG_BYTES,
                               text + plain_bytes) == 1 &&
           EVP_DecryptUpdate(context, text, &done, text, plain_bytes) == 1 &&
           EVP_DecryptFinal_ex(context, text + plain_bytes, &done) == 1;
}
#else
struct sealer *sealer_new(const unsigned char *key) {
    (void)key;
    return NULL;
}

void sealer_free(struct sealer *sealer) {
    (void)sealer;
}

bool seal(struct sealer *sealer, uint32_t block, uint64_t version, void *data, size_t bytes) {
    (void)sealer, (void)block, (void)version, (void)data, (void)bytes;
    return false;
}

bool unseal(struct sealer *sealer, uint32_t block, uint64_t version, void *data, size_t bytes) {
    return seal(sealer, block, version, data, bytes);
}
#endif
