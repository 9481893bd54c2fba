/* llvm_compat.h - declares everything of the LLVM C API that hexc uses, and hides the differences between
 * its versions. The only file with conditions on LLVM's version: 19 to 22 are supported. */
#ifndef HEXC_LLVM_COMPAT_H
#define HEXC_LLVM_COMPAT_H
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>

#if LLVM_VERSION_MAJOR < 19 || LLVM_VERSION_MAJOR > 22
#error "hexc needs LLVM 19 to 22: set LLVM_CONFIG"
#endif

/* CallingConv::PTX_Kernel: makes a function an .entry in every version; the annotation "kernel" does not. */
enum { CALL_PTX_KERNEL = 71 };

/* The source of .reqntid and .maxnreg: 19 and 20 read module metadata, 21 and later function attributes. */
#if LLVM_VERSION_MAJOR < 21
enum { REQNTID_METADATA = 1 };
#else
enum { REQNTID_METADATA = 0 };
#endif
#endif
