import { archive, central, end, entry, type Forgery, type ReferenceFile } from './zip-reference.ts';

/** What the metadata says. */
export const FILES: ReferenceFile[] = [
  { name: 'a.txt', content: Buffer.from('one') },
  { name: 'folder/b.txt', content: Buffer.from('twelve') },
];
const [first, second] = FILES as [ReferenceFile, ReferenceFile];
const third: ReferenceFile = { name: 'c.txt', content: Buffer.from('extra') };
export const GENUINE = archive(FILES);

const [one, two] = [entry(first), entry(second)];
const [centralOne, centralTwo] = [central(first, 0), central(second, one.length)];
const start = one.length + two.length;
const directory = Buffer.concat([centralOne, centralTwo]);
const last = end(2, directory.length, start);
const after = (bytes: Buffer, ...more: Buffer[]) => Buffer.concat([bytes, ...more]);
const forged = (forgery: Forgery) => archive(FILES, forgery);
const withoutSignature = (descriptor: Buffer) => descriptor.subarray(4);
const wide = (descriptor: Buffer) => {
  const bytes = Buffer.concat([descriptor.subarray(0, 8), Buffer.alloc(16)]);
  bytes.writeUInt32LE(descriptor.readUInt32LE(8), 8);
  bytes.writeUInt32LE(descriptor.readUInt32LE(12), 16);
  return bytes;
};
const inDescriptor = (at: number, value: number) => (descriptor: Buffer) => {
  descriptor.writeUInt32LE(value, at);
  return descriptor;
};
const UNNEEDED = Buffer.from('010008000000000000000000', 'hex');

/** The same two files as the metadata has, in archives that are not what the rules say. */
export const FORGED: Record<string, Buffer> = {
  'a wrong checksum, wherever there is one': forged({ crc: 1 }),
  'a wrong checksum in the descriptor': forged({ descriptor: inDescriptor(4, 1) }),
  'a wrong checksum in the directory': forged({ centralCrc: 1 }),
  'a wrong size in the descriptor': forged({ descriptor: inDescriptor(12, 7) }),
  'a wrong compressed size in the descriptor': forged({ descriptor: inDescriptor(8, 7) }),
  'a wrong size in the directory': forged({ centralSize: 7 }),
  'a size in the local header': forged({ localSize: 6 }),
  'a descriptor without a signature': forged({ descriptor: withoutSignature }),
  'a descriptor of 64 bits for a small file': forged({ descriptor: wide }),
  'no descriptor': forged({ descriptor: () => Buffer.alloc(0) }),
  'another name in the local header': forged({ localName: 'folder/c.txt' }),
  'another name in the directory': forged({ centralName: 'folder/c.txt' }),
  'a name that leads elsewhere in the directory': forged({ centralName: '../../../b.txt' }),
  'another method': forged({ method: 8 }),
  'no UTF-8 flag': forged({ flags: 0x0008 }),
  'an encryption flag': forged({ flags: 0x0809 }),
  'another version': forged({ version: 20 }),
  'an extra field in the local header': forged({ localExtra: UNNEEDED }),
  'an extra field in the directory': forged({ centralExtra: UNNEEDED }),
  'a comment of an entry': forged({ centralComment: 'more' }),
  'another start in the directory': forged({ centralStart: 0 }),
  'an extra entry': archive([first, second, third]),
  'an extra entry that the directory hides': after(one, two, entry(third), directory, end(2, directory.length, start)),
  'an extra entry before the first': archive([third, first, second]),
  'an extra entry in the directory alone': after(
    one,
    two,
    directory,
    central(third, 0),
    end(3, directory.length + central(third, 0).length, start),
  ),
  'a folder': archive([first, { name: 'folder/', content: Buffer.alloc(0) }, second]),
  'entries in another order': archive([second, first]),
  'a directory in another order': after(one, two, centralTwo, centralOne, last),
  'a directory that lacks an entry': after(one, two, centralOne, end(1, centralOne.length, start)),
  'no directory': after(one, two, end(2, 0, start)),
  'nothing after the last entry': after(one, two),
  'no end': after(one, two, directory),
  'another count in the end': after(one, two, directory, end(3, directory.length, start)),
  'another place in the end': after(one, two, directory, end(2, directory.length, 0)),
  'another size in the end': after(one, two, directory, end(2, 0, start)),
  'a comment of the archive': after(one, two, directory, end(2, directory.length, start, 'more')),
  'bytes before the first entry': after(Buffer.alloc(1), GENUINE),
  'bytes between entries': after(one, Buffer.alloc(1), two, directory, last),
  'bytes before the directory': after(one, two, Buffer.alloc(1), directory, last),
  'a byte after the end': after(GENUINE, Buffer.alloc(1)),
  'another archive after the end': after(GENUINE, GENUINE),
  'a second end': after(GENUINE, last),
  nothing: Buffer.alloc(0),
};
