import type { KeptLogin, LoginPlace, LoginStore } from '../../src/mcp/index.js'

/** Logins in memory, as an application might keep them. */
export function memoryLogins(): LoginStore & { readonly kept: ReadonlyMap<string, KeptLogin> } {
  const kept = new Map<string, KeptLogin>()
  const keyOf = ({ account, user, source }: LoginPlace): string => JSON.stringify([account, user, source])
  let versions = 0
  return {
    kept,
    get: (place) => Promise.resolve(kept.get(keyOf(place)) ?? null),
    save(place, text, version) {
      if ((kept.get(keyOf(place))?.version ?? null) !== version) return Promise.resolve(false)
      kept.set(keyOf(place), { text, version: (versions += 1) })
      return Promise.resolve(true)
    },
  }
}
