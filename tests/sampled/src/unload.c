// unload.c: loads two modules in turn, which take each other's place, lets each allocate, and unloads it.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void use(const char *path)
{
	void *module = dlopen(path, RTLD_NOW);
	void (*go)(void) = module ? (void (*)(void))dlsym(module, "go") : 0;
	if (!go) {
		fprintf(stderr, "%s: %s\n", path, dlerror());
		exit(1);
	}
	go();
	dlclose(module);
}

int main(int argc, char **argv)
{
	for (int i = 0; argc == 3 && i < 20; i++) {
		use(argv[1]);
		use(argv[2]);
	}
	return argc != 3;
}
