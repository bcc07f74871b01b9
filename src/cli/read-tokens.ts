import { ConfigError } from '../protocol/errors.js'
import type { Token } from '../server/index.js'
import { tokenLines } from './token-lines.js'

/**
 * Tokens as a file or EVERTHREAD_TOKENS holds them: `TOKEN ACCOUNT`; without an account it is an operator's.
 * @throws ConfigError if there is none: what is wrong with one, the server says itself
 */
export function readTokens(text: string): readonly Token[] {
  const tokens = tokenLines(text).map(({ token, words }) =>
    words.length === 0 ? { token } : { token, account: words.join(' ') },
  )
  if (tokens.length > 0) return tokens
  throw new ConfigError([
    'Expected tokens in EVERTHREAD_TOKENS, or in a file that --tokens names, got none: "TOKEN ACCOUNT", one a line; without ' +
      "an account it is an operator's. Make one with: openssl rand -hex 32",
  ])
}
