/**
 * A released version's histories are what its threads in production are: they are never edited and never recorded anew.
 * Each folder carries the checksums of its files, which every clone can check, also a shallow one without tags (and so can
 * `sha256sum --check SHA256SUMS` in it); where the tag is there, the folder is also what the tag has, checksums included.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'

import { UNRELEASED, keptFolders } from './kept-folders.js'

const CHECKSUMS = 'SHA256SUMS'
const VERSION = /^\d+\.\d+\.\d+(-[\w.]+)?$/
const TAG = /^v?(\d+\.\d+\.\d+(?:-[\w.]+)?)$/
const UNDO = 'take them from the tag again, and record what is new with "npm run record"'

/** Writes the checksums of a folder that is released now. */
export async function sealFolder(folder: string): Promise<void> {
  await writeFile(join(folder, CHECKSUMS), await checksumsOf(folder))
}

/** What is wrong with the folders of released versions; nothing, if nothing is. */
export async function releaseProblems(root: string): Promise<readonly string[]> {
  const problems: string[] = []
  for (const version of await keptFolders(root)) {
    if (version === UNRELEASED) continue
    if (VERSION.test(version)) problems.push(...(await checksumProblems(join(root, version), version)))
    else problems.push(`Expected a folder of a version or "${UNRELEASED}" in histories, got "${version}".`)
  }
  return [...problems, ...(await tagProblems(root))]
}

/** Versions that this clone has tags of. */
export async function taggedVersions(root: string): Promise<readonly (readonly [string, string])[]> {
  const tags = (await git(root, 'tag', '--list')).split('\n')
  return tags.flatMap((tag) => {
    const version = TAG.exec(tag)?.[1]
    return version === undefined ? [] : [[version, tag] as const]
  })
}

async function checksumProblems(folder: string, version: string): Promise<readonly string[]> {
  const kept = await readFile(join(folder, CHECKSUMS), 'utf8').catch(() => null)
  if (kept === null)
    return [`Expected ${CHECKSUMS} in histories/${version}, got none: "npm run release-histories" writes it.`]
  return kept === (await checksumsOf(folder))
    ? []
    : [`Expected the files of histories/${version} as they were released, got others: ${UNDO}.`]
}

async function checksumsOf(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name !== CHECKSUMS).toSorted()
  const lines = names.map(async (name) => {
    const sum = createHash('sha256').update(await readFile(join(folder, name)))
    return `${sum.digest('hex')}  ${name}\n`
  })
  return (await Promise.all(lines)).join('')
}

async function tagProblems(root: string): Promise<readonly string[]> {
  const folders = await keptFolders(root)
  const problems: string[] = []
  for (const [version, tag] of await taggedVersions(root)) {
    if (!folders.includes(version))
      problems.push(`Expected histories/${version}, for the tag ${tag} is there, got none: ${UNDO}.`)
    else if (await differs(root, version, tag))
      problems.push(`Expected histories/${version} to be as the tag ${tag} has it, got another: ${UNDO}.`)
  }
  return problems
}

/** Of the working tree, with files that git does not know. */
async function differs(root: string, version: string, tag: string): Promise<boolean> {
  const folder = join(root, version)
  const prefix = relative(await git(root, 'rev-parse', '--show-toplevel'), folder)
  const tree = await git(root, 'ls-tree', '-r', '--full-tree', tag, '--', `${prefix}/`)
  const tagged = tree.split('\n').flatMap((line) => {
    const [, blob, path] = /^\d+ blob (\w+)\t(.+)$/.exec(line) ?? []
    return blob === undefined || path === undefined ? [] : [`${blob} ${relative(prefix, path)}`]
  })
  const names = (await readdir(folder)).toSorted()
  const blobs = (
    await git(root, 'hash-object', '--no-filters', ...names.map((name) => join(folder, name)))
  ).split('\n')
  const there = names.map((name, index) => `${blobs[index]} ${name}`)
  return tagged.toSorted().join('\n') !== there.toSorted().join('\n')
}

async function git(directory: string, ...parameters: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', ['-C', directory, ...parameters])
  return stdout.trim()
}
