import { createHash, timingSafeEqual } from 'node:crypto'

import { ConfigError } from '../protocol/config-error.js'
import type { Caller } from './server-context.js'

/** What a caller sends as `Authorization: Bearer …`, and whose threads it has. */
export interface Token {
  /** At least 16 characters of letters, digits and `-._~+/=`. */
  readonly token: string
  /** Without one it is an operator's: the threads of all accounts, and those without. */
  readonly account?: string
}

/** Who has a token; null: nobody. Each comparison takes as long as any other. */
export type FindCaller = (token: string) => Caller | null

/** @throws ConfigError for tokens that no header can carry, that are short, or that two accounts would share */
export function callersByToken(tokens: readonly Token[]): FindCaller {
  const problems = tokens.map(tokenProblem).filter((problem) => problem !== undefined)
  if (tokens.length === 0) problems.push('Expected "tokens" to hold a token, got none: nobody could call.')
  if (new Set(tokens.map(({ token }) => token)).size < tokens.length)
    problems.push('Expected "tokens" to differ from each other, got one twice.')
  if (problems.length > 0) throw new ConfigError(problems)
  const known = tokens.map(({ token, account }) => ({
    digest: digestOf(token),
    caller: { account: account ?? null, rateKey: `token:${digestOf(token).toString('hex')}` },
  }))
  return (token) => {
    const digest = digestOf(token)
    // All of them, for the place of a token in the list is nobody's business either.
    const found = known.filter((one) => timingSafeEqual(one.digest, digest))
    return found[0]?.caller ?? null
  }
}

function tokenProblem({ token, account }: Token, index: number): string | undefined {
  const which = `Expected "tokens[${index}]`
  if (typeof token !== 'string' || !/^[\w.~+/-]{16,}=*$/.test(token))
    return `${which}.token" to be 16 characters or more of letters, digits and -._~+/=, got ${String(token).length} characters.`
  // '' would be an account of its own for whoever forgot to set one.
  if (account !== undefined && (typeof account !== 'string' || account === ''))
    return `${which}.account" to be a text, got ${account === '' ? 'an empty one' : typeof account}: leave it out for an operator.`
  return undefined
}

/** Equally long whatever the token is, which timingSafeEqual asks for. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
