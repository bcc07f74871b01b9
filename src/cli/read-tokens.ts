import { ConfigError } from '../protocol/config-error.js'
import type { Token } from '../server/index.js'

/**
 * Tokens as a file or EVERTHREAD_TOKENS holds them: `TOKEN ACCOUNT`, one a line or separated by commas; without an account
 * it is an operator's, and lines that begin with # are passed over.
 * @throws ConfigError if there is none: what is wrong with one, the server says itself
 */
export function readTokens(text: string): readonly Token[] {
  const tokens = text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [token = '', ...account] = line.split(/\s+/)
      return account.length === 0 ? { token } : { token, account: account.join(' ') }
    })
  if (tokens.length > 0) return tokens
  throw new ConfigError([
    'Expected tokens in EVERTHREAD_TOKENS, or in a file that --tokens names, got none: "TOKEN ACCOUNT", one a line; without ' +
      "an account it is an operator's. Make one with: openssl rand -hex 32",
  ])
}
