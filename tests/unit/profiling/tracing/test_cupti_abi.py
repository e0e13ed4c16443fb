"""native/kernel_tracer/cupti_abi.h against NVIDIA's own headers, where build/cuda has them."""

import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[4]
HEADERS = sorted((PROJECT / "build/cuda").glob("**/cupti_callbacks.h"))

SOURCE = r"""
#include <stddef.h>
#include <cupti.h>
#include "%s"

#define EQUAL(a, b) _Static_assert((a) == (b), #a " is " #b)
#define FIELD(ours, field, theirs, member) \
  EQUAL(offsetof(ours, field), offsetof(theirs, member)); \
  EQUAL(sizeof(((ours *)0)->field), sizeof(((theirs *)0)->member))
#define CALL(ours, name) EQUAL(ours, CUPTI_DRIVER_TRACE_CBID_##name)

EQUAL(DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_DRIVER_API);
EQUAL(DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
EQUAL(RESOURCE_DRIVER_READY, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
EQUAL(RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
EQUAL(SITE_ENTER, CUPTI_API_ENTER);
EQUAL(SITE_EXIT, CUPTI_API_EXIT);
EQUAL(MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);

CALL(CALL_MODULE_LOAD_DATA, cuModuleLoadData);
CALL(CALL_MODULE_LOAD_DATA_EX, cuModuleLoadDataEx);
CALL(CALL_MODULE_LOAD_FAT_BINARY, cuModuleLoadFatBinary);
CALL(CALL_MODULE_GET_FUNCTION, cuModuleGetFunction);
CALL(CALL_MODULE_GET_GLOBAL, cuModuleGetGlobal);
CALL(CALL_MODULE_GET_TEXTURE, cuModuleGetTexRef);
CALL(CALL_MODULE_GET_SURFACE, cuModuleGetSurfRef);
CALL(CALL_MODULE_GET_GLOBAL_V2, cuModuleGetGlobal_v2);
CALL(CALL_LIBRARY_GET_KERNEL, cuLibraryGetKernel);
CALL(CALL_LIBRARY_GET_GLOBAL, cuLibraryGetGlobal);
CALL(CALL_LIBRARY_GET_MANAGED, cuLibraryGetManaged);
CALL(CALL_LIBRARY_GET_UNIFIED_FUNCTION, cuLibraryGetUnifiedFunction);
CALL(CALL_MODULE_ENUMERATE_FUNCTIONS, cuModuleEnumerateFunctions);
CALL(CALL_LIBRARY_ENUMERATE_KERNELS, cuLibraryEnumerateKernels);

FIELD(struct call_data, site, CUpti_CallbackData, callbackSite);
FIELD(struct call_data, arguments, CUpti_CallbackData, functionParams);
FIELD(struct call_data, result, CUpti_CallbackData, functionReturnValue);
FIELD(struct resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);
FIELD(struct module_data, cubin_bytes, CUpti_ModuleResourceData, cubinSize);
FIELD(struct module_data, cubin, CUpti_ModuleResourceData, pCubin);

FIELD(struct image_arguments, image, cuModuleLoadData_params, image);
FIELD(struct image_arguments, image, cuModuleLoadDataEx_params, image);
FIELD(struct image_arguments, image, cuModuleLoadFatBinary_params, fatCubin);
FIELD(struct named_arguments, name, cuModuleGetFunction_params, name);
FIELD(struct named_arguments, name, cuModuleGetTexRef_params, name);
FIELD(struct named_arguments, name, cuModuleGetSurfRef_params, name);
FIELD(struct named_arguments, name, cuLibraryGetKernel_params, name);
FIELD(struct named_arguments, name, cuLibraryGetUnifiedFunction_params, symbol);
FIELD(struct variable_arguments, name, cuModuleGetGlobal_params, name);
FIELD(struct variable_arguments, name, cuModuleGetGlobal_v2_params, name);
FIELD(struct variable_arguments, name, cuLibraryGetGlobal_params, name);
FIELD(struct variable_arguments, name, cuLibraryGetManaged_params, name);
FIELD(struct list_arguments, handles, cuModuleEnumerateFunctions_params, functions);
FIELD(struct list_arguments, limit, cuModuleEnumerateFunctions_params, numFunctions);
FIELD(struct list_arguments, container, cuModuleEnumerateFunctions_params, mod);
FIELD(struct list_arguments, handles, cuLibraryEnumerateKernels_params, kernels);
FIELD(struct list_arguments, limit, cuLibraryEnumerateKernels_params, numKernels);
FIELD(struct list_arguments, container, cuLibraryEnumerateKernels_params, lib);

EQUAL(75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
EQUAL(76, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
"""


@pytest.mark.skipif(not HEADERS, reason="CUPTI's headers are missing: make deps-cuda")
@pytest.mark.parametrize("header", HEADERS, ids=lambda path: str(path.relative_to(PROJECT)))
def test_ids_and_layouts_are_nvidias(header: Path, tmp_path: Path) -> None:
    code = tmp_path / "abi.c"
    code.write_text(SOURCE.replace("%s", str(PROJECT / "native/kernel_tracer/cupti_abi.h")))
    # CUDA 13 has all headers in one folder, CUDA 12 one folder a package.
    others = sorted((PROJECT / "build/cuda").glob("nvidia/*/include"), reverse=True)
    includes = [f"-I{folder}" for folder in [header.parent, *others]]
    result = subprocess.run(
        ["gcc", "-fsyntax-only", *includes, code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
