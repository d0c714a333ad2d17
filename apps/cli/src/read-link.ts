import { type Link, MayflyError, parseAddress, parseLink } from '@mayfly/client';
import { CliError } from './exit-codes.ts';
import { isRequestLink } from './own-request.ts';

/** The link that an argument is. One without its key is told as such: it may have been cut off, or is given in another way. */
export async function readLink(text: string): Promise<Link> {
  if (isRequestLink(text)) {
    throw new CliError(
      'usage',
      'This link asks for files: mayfly drop LINK FILE sends some, mayfly collect LINK fetches what was sent',
    );
  }
  if (!/#./.test(text.trim())) {
    parseAddress(text); // what is no link at all is told first
    const message = 'The key of this link is missing: the part after the #. In a shell, put the whole link in quotes';
    throw new MayflyError('damaged-link', { message });
  }
  return parseLink(text);
}
