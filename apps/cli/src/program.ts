import { Command, InvalidArgumentError, Option } from 'commander';
import { remove } from './commands/delete.ts';
import { get } from './commands/get.ts';
import { info } from './commands/info.ts';
import { list } from './commands/list.ts';
import { NOTE_TYPES, note } from './commands/note.ts';
import { send } from './commands/send.ts';
import type { Context } from './context.ts';

const AFTER_HELP = `
Examples:
  mayfly send report.pdf --expires 1d --downloads 3
  tar c photos | mayfly send - --name photos.tar
  mayfly note --type password
  mayfly get 'https://mayfly.example/d/...#...' -o received

Passwords are asked for, or come from --password-file or MAYFLY_PASSWORD. The service is --server, MAYFLY_SERVER, or
"server" in ~/.config/mayfly/config.json.
`;

/** The command line. `open` makes what a command needs, when there is one to run. */
export function buildProgram(version: string, open: () => Promise<Context>): Command {
  const program = new Command('mayfly')
    .description('Sends files and notes through links that live briefly, encrypted before they leave this machine.')
    .version(version)
    .addHelpText('after', AFTER_HELP)
    .showHelpAfterError('(mayfly --help tells more)');
  const command = (usage: string, description: string) =>
    program.command(usage).description(description).option('--json', 'print JSON');
  const server = ['--server <url>', 'address of the service'] as const;
  const expires = ['--expires <time>', 'how long it can be used: 5m, 1h, 1d, 7d (a day)'] as const;
  const password = ['--password', 'ask for a password that protects it'] as const;
  const passwordFile = ['--password-file <file>', 'read the password from the first line of a file'] as const;
  const qr = ['--qr', 'show the link as a QR code as well'] as const;

  command('send', 'encrypt and upload files, folders, or stdin (-), and print the link')
    .argument('<file...>')
    .option(...server)
    .option(...expires)
    .option('--downloads <count>', 'how often it can be downloaded (1)', readCount)
    .option(...password)
    .option(...passwordFile)
    .option('--name <name>', 'name of what comes from stdin')
    .option(...qr)
    .action(async (files, options) => send(await open(), files, options));
  command('note', 'encrypt and store a text, and print the link')
    .argument('[text]', 'the text; without it, or with -, it is read from stdin')
    .option(...server)
    .addOption(new Option('--type <type>', 'what kind of text it is').choices(NOTE_TYPES).default('text'))
    .option(...expires)
    .option('--views <count>', 'how often it can be viewed (1)', readCount)
    .option(...password)
    .option(...passwordFile)
    .option(...qr)
    .action(async (text, options) => note(await open(), text, options));
  command('get', 'download and decrypt what a link leads to; a note is printed')
    .argument('<link>')
    .option('-o, --output <folder>', 'where to save it; - is stdout')
    .option('--force', 'replace files that exist')
    .option(...passwordFile)
    .action(async (link, options) => get(await open(), link, options));
  command('info', 'say what a link leads to; spends nothing')
    .argument('<link>')
    .option('--password', 'ask for the password, to see the names as well')
    .option(...passwordFile)
    .action(async (link, options) => info(await open(), link, options));
  command('delete', 'delete something that was sent from here')
    .argument('<link-or-id>')
    .option(...server)
    .option('--note', 'the id is that of a note that was sent from elsewhere')
    .action(async (linkOrId, options) => remove(await open(), linkOrId, options));
  command('list', 'list what was sent from here')
    .option('--prune', 'forget what is over')
    .action(async (options) => list(await open(), options));
  return program;
}

function readCount(text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1) throw new InvalidArgumentError('It is a number from 1.');
  return count;
}
