import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

import { missingOptionalPackages } from './complete-lock.js'
import type { LockedPackages } from './complete-lock.js'

test('the lock file names the binaries of all platforms', () => {
  const text = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')
  const { packages } = JSON.parse(text) as { readonly packages: LockedPackages }
  expect(Object.keys(missingOptionalPackages(packages)), 'run npm run lock').toEqual([])
})

test('a missing binary is put back with its platform', () => {
  const packages = {
    'node_modules/a': {
      dev: true,
      optionalDependencies: { 'a-linux-x64-musl': '1.2.3', 'a-darwin-arm64': '1.2.3' },
    },
    'node_modules/a/node_modules/a-darwin-arm64': { version: '1.2.3' },
  }
  expect(missingOptionalPackages(packages)).toEqual({
    'node_modules/a-linux-x64-musl': {
      version: '1.2.3',
      cpu: ['x64'],
      dev: true,
      libc: ['musl'],
      optional: true,
      os: ['linux'],
    },
  })
})

test('an optional package for no platform is not guessed at', () => {
  const packages = { 'node_modules/a': { optionalDependencies: { extras: '^1.0.0' } } }
  expect(() => missingOptionalPackages(packages)).toThrow('extras@^1.0.0')
})
