// What the leak sanitizer asks a program for: PoCL 3.1 keeps some kilobytes of each program that it compiles.
extern "C" const char* __lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libpocl\n";
}
