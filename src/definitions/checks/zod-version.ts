import { z } from 'zod'
import { ConfigError } from '../../protocol/errors.js'

/** Says at load which zod is there: without this an older one fails in the middle of our schemas. */
export function checkZodVersion(found: unknown): void {
  const major = majorOf(found)
  if (major === 4) return
  throw new ConfigError([
    `Expected zod 4 for Everthread, got zod ${major ?? '3 or older'}: run "npm install zod@4"; ` +
      '"npm explain zod" says what holds the other version.',
  ])
}

/** zod names its version from 4 on. */
function majorOf(found: unknown): number | undefined {
  return (found as { readonly core?: { readonly version?: { readonly major?: number } } }).core?.version
    ?.major
}

checkZodVersion(z)
