import type { SourceLogin, SourceUser } from '../../definitions/tool-source.js'
import { findLogin, putLogin } from '../../store/calls/logins.js'
import type { Store } from '../../store/store.js'

/** A person, and the login that a source has of them: of nobody else, and for no other source. */
export function withLoginAt(
  store: Store,
  user: SourceUser,
  source: string,
): SourceUser & { readonly login: SourceLogin } {
  const { account, user: name } = user
  const place = { account, user: name, source }
  return {
    ...user,
    login: {
      key: JSON.stringify([store.id, account, name]),
      read: () => store.read((db) => findLogin(db, store.secrets, place)),
      save: (text, version) =>
        store.write((tx) =>
          putLogin(tx, store.secrets, { place, text, version: version === null ? null : Number(version) }),
        ),
    },
  }
}
