// What people choose most often, also with digits behind it or with other capitals. Names and words that are guessed
// first in any attack; an estimate needs no longer list, since every run of letters already counts as a word.

export const COMMON_PASSWORDS = new Set(
  `password passwort passw0rd p4ssw0rd pa55word secret geheim admin administrator root login welcome willkommen hallo
  hello hallo123 letmein iloveyou ichliebedich schatz sunshine princess monkey dragon football fussball baseball master
  superman batman shadow michael jennifer jordan hunter ranger buster soccer hockey killer george andrew charlie daniel
  thomas computer internet starwars pokemon samsung google facebook whatsapp microsoft test tester testing test123
  changeme default guest user qwerty qwertz azerty asdf asdfgh asdfghjkl yxcvbnm zxcvbnm qwertyuiop qwertzuiop q1w2e3r4
  1q2w3e4r 1qaz2wsx abc123 a1b2c3 123456 12345678 123456789 1234567890 111111 000000 654321 666666 888888 987654321
  trustno1 freedom whatever nothing summer sommer winter spring autumn herbst berlin hamburg munich london
  flower blume cheese banana cookie chocolate pepper ginger mustang ferrari porsche mercedes yankees liverpool arsenal
  chelsea bayern dortmund schalke merlin matrix jesus angel lovely hannah nicole jessica ashley amanda joshua matthew`.split(
    /\s+/,
  ),
);
