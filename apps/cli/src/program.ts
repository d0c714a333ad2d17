import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { collect as collectDrops } from './commands/collect.ts';
import { remove } from './commands/delete.ts';
import { drop } from './commands/drop.ts';
import { get } from './commands/get.ts';
import { info } from './commands/info.ts';
import { list } from './commands/list.ts';
import { NOTE_TYPES, note } from './commands/note.ts';
import { notify } from './commands/notify.ts';
import { close, extend, status } from './commands/own.ts';
import { request } from './commands/request.ts';
import { resume } from './commands/resume.ts';
import { send } from './commands/send.ts';
import { verify } from './commands/verify.ts';
import { COMPLETION_HELP, completion, SHELLS, type Shell } from './completion.ts';
import type { Context } from './context.ts';

const AFTER_HELP = `
Examples:
  mayfly send report.pdf --expires 1d --downloads 3
  tar c photos | mayfly send - --name photos.tar
  mayfly note --type password
  mayfly get 'https://mayfly.example/d/...#...' -o received/
  mayfly get 'https://mayfly.example/d/...#...' --only photos/first.jpg

Passwords are asked for, or come from --password-file or MAYFLY_PASSWORD. The service is --server, MAYFLY_SERVER, or
"server" in ~/.config/mayfly/config.json. Where sending takes a key, it is MAYFLY_KEY.

mayfly completion bash, zsh or fish prints what makes that shell complete commands and options.
`;

const MOST_PARALLEL = 8;

/** The command line. `open` makes what a command needs, when there is one to run. */
export function buildProgram(version: string, open: () => Promise<Context>): Command {
  const program = new Command('mayfly')
    .description('Sends files and notes through links that live briefly, encrypted before they leave this machine.')
    .version(version)
    .addHelpText('after', AFTER_HELP)
    .configureOutput({ outputError: (text, write) => write(asSentence(text)) })
    .showHelpAfterError('(see mayfly --help)');
  const plainCommand = (usage: string, description: string) =>
    program.command(usage).description(description).showHelpAfterError(`(see mayfly ${usage} --help)`);
  const command = (usage: string, description: string) =>
    plainCommand(usage, description).option('--json', 'print JSON');
  const server = ['--server <url>', 'address of the service'] as const;
  const expires = ['--expires <time>', 'how long it can be used: 5m, 1h, 1d, 7d (default: 1d)'] as const;
  const password = ['--password', 'ask for a password that protects it'] as const;
  const passwordFile = ['--password-file <file>', 'read the password from the first line of a file'] as const;
  const allowPbkdf2 = ['--allow-pbkdf2', 'open it even if its password can be guessed more easily than usual'] as const;
  const parallel = [
    '--parallel <count>',
    `how many parts are on their way at once, 1 to ${MOST_PARALLEL} (default: up to ${MOST_PARALLEL})`,
    readParallel,
  ] as const;
  const told = ['--notify <url>', 'have this https:// address called whenever it is used'] as const;
  const qr = ['--qr', 'show the link as a QR code as well'] as const;

  command('send', 'encrypt and upload files, folders, or stdin (-), and print the link')
    .argument('<file...>')
    .option(...server)
    .option(...expires)
    .option('--downloads <count>', 'how often it can be downloaded (default: 1)', readCount)
    .option(...password)
    .option(...passwordFile)
    .option('--name <name>', 'the name that the recipient sees for the file, the folder, or what comes from stdin')
    .option('--parts', 'send it in parts, which can be resumed: the default for large uploads, where the service can')
    .option('--no-parts', 'send it in one piece')
    .option(...parallel)
    .option('--resume', 'continue an upload of the same files that was interrupted, if there is one')
    .option('--no-resume', 'send it from the start, without asking')
    .option('--announce', 'print the link of a large upload at the start; it works when everything is sent')
    .option(...told)
    .option(...qr)
    .action(async (files, options) => send(await open(), files, options));
  command('resume', 'go on with an upload that was interrupted, and print its link')
    .argument('[id]', 'which one, if there are several')
    .option(...parallel)
    .option(...qr)
    .action(async (id, options) => resume(await open(), id, options));
  command('note', 'encrypt and store a text, and print the link')
    .argument('[text]', 'the text; without it, or with -, it is read from stdin')
    .option(...server)
    .addOption(new Option('--type <type>', 'what kind of text it is').choices(NOTE_TYPES).default('text'))
    .option('--name <name>', 'its name in mayfly list')
    .option(...expires)
    .option('--views <count>', 'how often it can be viewed (default: 1)', readCount)
    .option(...password)
    .option(...passwordFile)
    .option(...told)
    .option(...qr)
    .action(async (text, options) => note(await open(), text, options));
  command('get', 'download and decrypt what a link leads to; a note is printed')
    .argument('<link>')
    .option('-o, --output <path>', 'the folder, or the name of the one file, to save it as; - is stdout')
    .option('--only <name>', 'only this file, or the files in this folder (may be repeated)', collect)
    .option('--force', 'replace files that exist')
    .option('--wait', 'wait for an upload that is still being sent')
    .option(...passwordFile)
    .option(...allowPbkdf2)
    .action(async (link, options) => get(await open(), link, options));
  command('request', 'ask for files: print a link to give away, and one to keep that opens what is sent')
    .argument('<title>', 'what you ask for, as senders see it')
    .option(...server)
    .option('--text <text>', 'more that senders should know')
    .option('--expires <time>', 'how long files can be sent: 1d, 7d (default: 7d)')
    .option('--drops <count>', 'how often something can be sent (default: 10)', readCount)
    .option(
      '--max-size <size>',
      'of everything together, encrypted: 500MB, 2GB (default: as much as the service takes)',
    )
    .option('--drop-expires <time>', 'how long you can fetch each drop (default: 7d)')
    .option('--downloads <count>', 'how often you can fetch each drop (default: 10)', readCount)
    .option('--notify <url>', 'have this https:// address called whenever something is sent')
    .option(...qr)
    .action(async (title, options) => request(await open(), title, options));
  command('drop', 'send files to whoever has asked for them with this link')
    .argument('<link>')
    .argument('<file...>')
    .option(...parallel)
    .option('--resume', 'continue with the same files if they were interrupted')
    .option('--no-resume', 'send them from the start, without asking')
    .action(async (link, files, options) => drop(await open(), link, files, options));
  command('collect', 'download and decrypt what others have sent for a request')
    .argument('<link-or-id>', 'the link to keep')
    .option('-o, --output <folder>', 'where each drop gets a folder of its own (default: here)')
    .option('--watch', 'wait for more, until the request is full or over')
    .action(async (linkOrId, options) => collectDrops(await open(), linkOrId, options));
  command('info', 'show what a link leads to; uses nothing up')
    .argument('<link>')
    .option('--password', 'ask for the password, to see the names as well')
    .option(...passwordFile)
    .option(...allowPbkdf2)
    .action(async (link, options) => info(await open(), link, options));
  command('delete', 'delete something that was sent from here')
    .argument('<link-or-id>')
    .option(...server)
    .option('--note', 'the id is that of a note sent from elsewhere')
    .action(async (linkOrId, options) => remove(await open(), linkOrId, options));
  const owner = (usage: string, description: string) =>
    command(usage, description)
      .argument('<link-or-id>')
      .option(...server)
      .option('--note', 'the id is that of a note sent from elsewhere');
  owner('status', 'show what became of something that was sent from here, also when it is over').action(
    async (linkOrId, options) => status(await open(), linkOrId, options),
  );
  owner('extend', 'let it be used longer, or more often, or the other way round')
    .option('--expires <time>', 'how long from now it can be used: 5m, 1h, 1d, 7d')
    .option('--uses <count>', 'how often it can be downloaded or viewed in all', readCount)
    .action(async (linkOrId, options) => extend(await open(), linkOrId, options));
  owner('close', 'end it at once; its status can still be seen').action(async (linkOrId, options) =>
    close(await open(), linkOrId, options),
  );
  owner('notify', 'have an address called whenever something that was sent is used')
    .argument('[url]', 'https:// address')
    .option('--off', 'tell nobody any more')
    .action(async (linkOrId, url, options) => notify(await open(), linkOrId, url, options));
  command('list', 'list what was sent from here')
    .option('--prune', 'forget what has ended')
    .action(async (options) => list(await open(), options));
  command('verify', 'compare the pages that a service serves with the published ones')
    .argument('<server>')
    .option('--release <file>', 'release.json of the version to expect, or its number (default: that of this command)')
    .option(
      '--watch [seconds]',
      'look again and again, until something differs (default: every 900 seconds)',
      readCount,
    )
    .action(async (server, options) => verify(await open(), server, options));
  plainCommand('completion', 'print what makes a shell complete commands and options')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', COMPLETION_HELP)
    .action(async (shell: Shell) => (await open()).terminal.print(completion(shell, program)));
  return program;
}

/** commander's own errors, told as all others are. */
function asSentence(text: string): string {
  return text.replace(/^error: (.)/, (_, first: string) => `mayfly: ${first.toUpperCase()}`);
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

function readCount(text: string): number {
  return readWhole(text, Number.MAX_SAFE_INTEGER, 'It must be a whole number from 1.');
}

function readParallel(text: string): number {
  return readWhole(text, MOST_PARALLEL, `It must be a whole number from 1 to ${MOST_PARALLEL}.`);
}

function readWhole(text: string, most: number, problem: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > most) throw new InvalidArgumentError(problem);
  return count;
}
