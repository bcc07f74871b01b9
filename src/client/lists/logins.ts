/** The logins of people at sources of tools: lists them, without what they hold, and forgets them. */
import { ConfigError } from '../../protocol/errors.js'
import { deleteLogin, listLogins } from '../../store/calls/logins.js'
import type { ClientContext } from '../client-context.js'

/** Whose logins they are. Left out: threads without an account, and without a user. */
export interface LoginOwner {
  readonly account?: string
  readonly userId?: string
}

/** A login that a person has given. Times are microseconds since 1970. */
export interface KnownLogin {
  /** The name of the source of tools, such as that of an MCP server. */
  readonly source: string
  readonly createdAt: number
  /** When its tokens were last renewed, or a login began. */
  readonly updatedAt: number
}

/** What people have allowed sources of tools to do for them. */
export interface Logins {
  /** Lists those that the store keeps of a person, by source. */
  list(owner: LoginOwner): Promise<readonly KnownLogin[]>
  /**
   * Forgets a login, for requests from now on: the next call asks the person to log in. It does not tell the authorization server. Returns
   * false if there is none.
   */
  delete(login: LoginOwner & { readonly source: string }): Promise<boolean>
}

export function loginsOf(context: ClientContext): Logins {
  return {
    async list(owner) {
      const store = await context.store()
      return store.read((db) => listLogins(db, personOf(owner)))
    },
    async delete({ source, ...owner }) {
      if (typeof source !== 'string')
        throw new ConfigError([`Expected "source" to be the name of a source, got ${typeof source}.`])
      const store = await context.store()
      return store.write((tx) => deleteLogin(tx, { ...personOf(owner), source }))
    },
  }
}

function personOf({ account, userId }: LoginOwner): { account: string | null; user: string | null } {
  return { account: account ?? null, user: userId ?? null }
}
