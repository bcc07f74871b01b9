import { ConfigError } from '../protocol/errors.js'
import { ownersByToken, tokenDigest, tokenProblems } from './secret-tokens.js'
import type { TokenOwner } from './secret-tokens.js'
import type { Caller } from './server-context.js'

/** What a caller sends as `Authorization: Bearer …`, and whose threads it has. */
export interface Token extends TokenOwner {
  /** Without one it is an operator's: the threads of all accounts, and those without. */
  readonly account?: string
}

/** Who has a token; null: nobody. */
export type FindCaller = (token: string) => Caller | null

/** @throws ConfigError for tokens that no header can carry, that are short, or that two accounts would share */
export function callersByToken(tokens: readonly Token[]): FindCaller {
  const problems = [...tokenProblems('tokens', tokens), ...tokens.flatMap(accountProblems)]
  if (tokens.length === 0) problems.push('Expected "tokens" to hold a token, got none: nobody could call.')
  if (problems.length > 0) throw new ConfigError(problems)
  const ownerOf = ownersByToken(
    tokens.map(({ token, account }) => {
      const rateKey = `token:${tokenDigest(token).toString('hex')}`
      return { token, caller: { account: account ?? null, rateKey } }
    }),
  )
  return (token) => ownerOf(token)?.caller ?? null
}

/** '' would be an account of its own for whoever forgot to set one. */
function accountProblems({ account }: Token, index: number): readonly string[] {
  if (account === undefined || (typeof account === 'string' && account !== '')) return []
  const got = account === '' ? 'an empty one' : typeof account
  return [`Expected "tokens[${index}].account" to be a text, got ${got}: leave it out for an operator.`]
}
