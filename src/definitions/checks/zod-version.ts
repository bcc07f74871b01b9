import { z } from 'zod'
import { ConfigError } from '../../protocol/errors.js'

/** Checks the version of zod at load: without this, an older version fails in the middle of our schemas. */
export function checkZodVersion(found: unknown): void {
  const major = majorOf(found)
  if (major === 4) return
  throw new ConfigError([
    `Expected zod 4 for Everthread, got zod ${major ?? '3 or older'}: run "npm install zod@4"; ` +
      '"npm explain zod" shows what requires the other version.',
  ])
}

/** zod contains its version from version 4 on. */
function majorOf(found: unknown): number | undefined {
  return (found as { readonly core?: { readonly version?: { readonly major?: number } } }).core?.version
    ?.major
}

checkZodVersion(z)
