import { createHash, timingSafeEqual } from 'node:crypto'

/** Who or what has a token of its own. */
export interface TokenOwner {
  /** At least 16 characters of letters, digits and `-._~+/=`. */
  readonly token: string
}

/** What is wrong with the tokens of an option: what no header can carry, what is short, what two would share. */
export function tokenProblems(option: string, owners: readonly TokenOwner[]): readonly string[] {
  const bad = owners.flatMap(({ token }, index) =>
    typeof token === 'string' && /^[\w.~+/-]{16,}=*$/.test(token)
      ? []
      : [
          `Expected "${option}[${index}].token" to be 16 characters or more of letters, digits and -._~+/=, ` +
            `got ${String(token).length} characters.`,
        ],
  )
  const isUnique = new Set(owners.map(({ token }) => token)).size === owners.length
  return isUnique
    ? bad
    : [...bad, `Expected the tokens of "${option}" to differ from each other, got one twice.`]
}

/** Finds the owner of a token; undefined: nobody. It takes as long whatever is given. */
export function ownersByToken<O extends TokenOwner>(owners: readonly O[]): (token: string) => O | undefined {
  const known = owners.map((owner) => ({ owner, digest: tokenDigest(owner.token) }))
  return (token) => {
    const digest = tokenDigest(token)
    // All of them, for the place of a token in the list is nobody's business either.
    const found = known.filter((one) => timingSafeEqual(one.digest, digest))
    return found[0]?.owner
  }
}

/** SHA-256: equally long whatever the token is, which timingSafeEqual asks for. */
export function tokenDigest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** The token of a header `Authorization: Bearer …`. */
export function bearerToken(authorization: string | null | undefined): string | undefined {
  return /^Bearer +([\w.~+/=-]+) *$/i.exec(authorization ?? '')?.[1]
}
