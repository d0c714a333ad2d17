// ./mayfly: the command line of this checkout.
import '../apps/cli/src/main.ts';
