import { execFile, execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { cp, mkdir, realpath, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** A package of an earlier commit, with the present chaos in it, whose processes import that package by its name. */
export interface OldPackage {
  readonly folder: string
  /** Its workflow, bundled by itself. */
  readonly codePath: string
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** What chaos imports beside the package, and how it is loaded. */
const WITH_CHAOS = ['chaos', 'test/support', 'test/store/processes', 'test/chaos/resolve-source.ts'] as const

const BUNDLING = [
  '--import',
  './test/store/processes/resolve-typescript.ts',
  'chaos/processes/bundle-process.ts',
]

const run = promisify(execFile)

/** The commit that a ref names. @throws Error with one sentence for a ref that this repository does not know */
export function commitOf(ref: string): string {
  const line = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`]
  try {
    return execFileSync('git', line, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    throw new Error(
      `Expected --old to name a tag or commit of this repository, got "${ref}": fetch it first.`,
    )
  }
}

/** Checks the commit out, builds it as it builds itself, and bundles its workflow; all of it goes with this process. */
export async function buildOldPackage(commit: string, folder: string): Promise<OldPackage> {
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await mkdir(folder, { recursive: true })
  const archive = join(folder, 'archive.tar')
  await run('git', ['archive', '--output', archive, commit], { cwd: ROOT })
  await run('tar', ['-xf', archive, '-C', folder])
  await rm(archive)
  await symlink(await realpath(join(ROOT, 'node_modules')), join(folder, 'node_modules'))
  await run('npm', ['run', '--silent', 'build'], { cwd: folder })
  for (const path of WITH_CHAOS) {
    await rm(join(folder, path), { recursive: true, force: true })
    await cp(join(ROOT, path), join(folder, path), { recursive: true })
  }
  const codePath = join(folder, 'workflows.js')
  await run(process.execPath, [...BUNDLING, codePath], { cwd: folder })
  return { folder, codePath }
}
