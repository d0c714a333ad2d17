import type { Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export const COMPLETION_HELP = `
For every new shell:
  bash: echo 'eval "$(mayfly completion bash)"' >> ~/.bashrc
  zsh:  echo 'eval "$(mayfly completion zsh)"' >> ~/.zshrc, behind compinit
  fish: mayfly completion fish > ~/.config/fish/completions/mayfly.fish
`;

/** A script for a shell that completes the commands, their options, and files. */
export function completion(shell: Shell, program: Command): string {
  const commands = program.commands.map((command) => ({
    name: command.name(),
    about: command.description(),
    options: command.options.flatMap((option) => (option.long ? [{ ...aboutOption(option), long: option.long }] : [])),
  }));
  return SCRIPTS[shell](commands);
}

type Completed = { name: string; about: string; options: { long: string; about: string; takesValue: boolean }[] };

const aboutOption = ({ description, required, optional }: Option) => ({
  about: description,
  takesValue: required || optional,
});

const SCRIPTS: Record<Shell, (commands: Completed[]) => string> = {
  bash: (commands) => `_mayfly() {
  local words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=${quoted(commands.map(({ name }) => name).join(' '))}
  elif [ "\${COMP_WORDS[COMP_CWORD]:0:1}" = - ]; then
    case \${COMP_WORDS[1]} in
${commands.map(({ name, options }) => `      ${name}) words=${quoted(options.map(({ long }) => long).join(' '))} ;;`).join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _mayfly mayfly
`,

  zsh: (commands) => `_mayfly() {
  local -a found
  if (( CURRENT == 2 )); then
    found=(${commands.map(({ name, about }) => quoted(`${name}:${about}`)).join(' ')})
    _describe command found
  elif [[ $PREFIX == -* ]]; then
    case $words[2] in
${commands.map(({ name, options }) => `      ${name}) found=(${options.map(({ long, about }) => quoted(`${long}:${about}`)).join(' ')}) ;;`).join('\n')}
    esac
    _describe option found
  else
    _files
  fi
}
compdef _mayfly mayfly
`,

  fish: (commands) =>
    commands
      .flatMap(({ name, about, options }) => [
        `complete -c mayfly -n __fish_use_subcommand -f -a ${name} -d ${quoted(about)}`,
        ...options.map(
          ({ long, about, takesValue }) =>
            `complete -c mayfly -n '__fish_seen_subcommand_from ${name}' -l ${long.slice(2)}${takesValue ? ' -r' : ''} -d ${quoted(about)}`,
        ),
      ])
      .join('\n')
      .concat('\n'),
};

/** For all three shells: no text here has a quote in it that they would read differently. */
const quoted = (text: string) => `'${text.replaceAll("'", '’')}'`;
