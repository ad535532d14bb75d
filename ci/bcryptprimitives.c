/* Windows' bcryptprimitives.dll, as far as Rust's standard library calls it, for a Wine that lacks it. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length)
{
    return RtlGenRandom(data, (ULONG)length);
}
