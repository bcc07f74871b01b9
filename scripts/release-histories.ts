/**
 * `npm run release-histories`, before the tag of a release: makes `histories/unreleased` the folder of the version in
 * package.json, with the checksums of its files. From then on nothing in it may change.
 */
import { readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { HISTORIES, UNRELEASED } from '../test/replay/kept-folders.js'
import { sealFolder } from '../test/replay/released-histories.js'

const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
const folder = join(HISTORIES, version)
const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
if (version === '0.0.0')
  throw new Error('Expected the version of the release in package.json, got 0.0.0: set it.')
if (await isThere(folder))
  throw new Error(`Expected no histories of ${version} yet, got some: what was released stays as it is.`)
const unreleased = join(HISTORIES, UNRELEASED)
if (!(await isThere(unreleased)))
  throw new Error(`Expected histories in ${unreleased}, got none: "npm run record" records them.`)
await rename(unreleased, folder)
await sealFolder(folder)
process.stdout.write(`${unreleased} is ${folder} now; commit it, then tag ${version}.\n`)
