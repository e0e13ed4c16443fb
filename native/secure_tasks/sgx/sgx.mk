# Enclaves of Intel's SGX SDK: the bridges, the enclave, its signature. UNTESTED on hardware; SGX_MODE=SIM
# simulates it.
SGX_SIMULATED := $(if $(filter-out HW,$(SGX_MODE)),_sim)
SGX_BUILD := $(OUT)/sgx
SGX_EDL := secure_tasks/sgx/enclave.edl
SGX_ENCLAVE := $(OUT)/trimtab-enclave.signed.so $(SGX_BUILD)/enclave_u.o
SGX_SAID := $(if $(SGX_SIMULATED),no isolation: simulated SGX,debug enclave of Intel SGX)
SGX_FLAGS := -DTRIMTAB_SGX='"$(SGX_SAID)"' -I$(SGX_BUILD) -Isecure_tasks -I$(SGX_SDK)/include
SGX_LIBRARIES := $(SGX_BUILD)/enclave_u.o -L$(SGX_SDK)/lib64 -lsgx_urts$(SGX_SIMULATED)
SGX_INSIDE := $(addprefix secure_tasks/,inside.c sealing.c kernels.c convolution.c detection.c sgx/trusted.c)
# The SDK's C library, and of gcc's headers what that lacks: stdatomic.h.
SGX_TRUSTED := -O2 -g -nostdinc -fvisibility=hidden -fpie -fstack-protector-strong -fopenmp-simd \
  -ffunction-sections -fdata-sections -I$(SGX_BUILD) -Isecure_tasks -I$(SGX_SDK)/include \
  -I$(SGX_SDK)/include/tlibc -isystem $(shell $(CC) -print-file-name=include) -include secure_tasks/sgx/trusted.h
# As the SDK's samples link enclaves.
SGX_LINK := -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--no-undefined -nostdlib -nodefaultlibs -nostartfiles \
  -L$(SGX_SDK)/lib64 -Wl,--whole-archive -lsgx_trts$(SGX_SIMULATED) -Wl,--no-whole-archive \
  -Wl,--start-group -lsgx_tstdc -lsgx_tcrypto -lsgx_tservice$(SGX_SIMULATED) -Wl,--end-group \
  -Wl,-Bstatic -Wl,-Bsymbolic -Wl,-pie,-eenclave_entry -Wl,--export-dynamic -Wl,--defsym,__ImageBase=0 \
  -Wl,--gc-sections -Wl,--version-script=secure_tasks/sgx/enclave.lds

$(SGX_BUILD)/enclave_t.c $(SGX_BUILD)/enclave_u.c &: $(SGX_EDL) secure_tasks/enclave.h
	@mkdir -p $(SGX_BUILD)
	@$(SGX_SDK)/bin/x64/sgx_edger8r --trusted --trusted-dir $(SGX_BUILD) --untrusted \
	  --untrusted-dir $(SGX_BUILD) --search-path $(SGX_SDK)/include --search-path secure_tasks $(SGX_EDL)

# The bridges are not ours to warn about.
$(SGX_BUILD)/enclave_u.o: $(SGX_BUILD)/enclave_u.c
	@$(CC) -O2 -g -fPIE -Isecure_tasks -I$(SGX_SDK)/include -c -o $@ $<

$(SGX_BUILD)/enclave_t.o: $(SGX_BUILD)/enclave_t.c
	@$(CC) $(SGX_TRUSTED) -c -o $@ $<

$(SGX_BUILD)/trimtab-enclave.so: $(SGX_BUILD)/enclave_t.o $(SGX_INSIDE) $(wildcard secure_tasks/*.h secure_tasks/sgx/*)
	@$(CC) $(SGX_TRUSTED) $(WARNINGS) -fno-analyzer -o $@ $(SGX_INSIDE) $(SGX_BUILD)/enclave_t.o $(SGX_LINK)

# A key for debugging, made here: nobody trusts it.
$(SGX_BUILD)/key.pem:
	@openssl genrsa -out $@ -3 3072 2> /dev/null

$(OUT)/trimtab-enclave.signed.so: $(SGX_BUILD)/trimtab-enclave.so $(SGX_BUILD)/key.pem secure_tasks/sgx/enclave.config.xml
	@echo "build $(notdir $@), which is untested on hardware"
	@$(SGX_SDK)/bin/x64/sgx_sign sign -key $(SGX_BUILD)/key.pem -enclave $< -out $@ \
	  -config secure_tasks/sgx/enclave.config.xml > $(SGX_BUILD)/sign.log 2>&1 || \
	  { cat $(SGX_BUILD)/sign.log; exit 1; }
