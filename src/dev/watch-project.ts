import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { join } from 'node:path'

/** What a worker may read when it starts. */
const RELEVANT = /\.(?:[cm]?[jt]s|json|md|txt)$|^\.env$/
const IRRELEVANT = /\.(?:test|spec)\.\w+$|\.d\.[cm]?ts$/
const PASSED_OVER: ReadonlySet<string> = new Set(['node_modules', 'dist', 'coverage'])

/** Milliseconds: an editor writes a file in several steps, and "save all" many files. */
const PAUSE = 100

/** A project has fewer; somebody who starts `dev` in their home directory has more. */
const MOST_FOLDERS = 1000

interface ProjectWatch {
  close(): void
}

/**
 * Calls the listener with the changed files of a project, once for each save. Only changed content counts. Folders of packages and
 * those that begin with a dot are not looked into, nor are tests. Each folder is watched by itself, because a recursive watch would
 * follow all of `node_modules`.
 */
export function watchProject(
  folder: string,
  listener: (files: readonly string[]) => void,
  onProblem: (problem: string) => void,
): ProjectWatch {
  const watchers = new Map<string, FSWatcher>()
  const digests = new Map<string, string | null>()
  const changed = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  function add(path: string, isNew: boolean): void {
    if (watchers.has(path) || watchers.size >= MOST_FOLDERS) return
    try {
      const watcher = watch(join(folder, path), (_event, name) => note(path, name))
      watcher.on('error', () => remove(path))
      watchers.set(path, watcher)
    } catch (error) {
      const { code = 'an error' } = error as NodeJS.ErrnoException
      onProblem(
        `Expected to watch ${path || 'the project'} for changes, got ${code}: start dev again after a change.`,
      )
      return
    }
    for (const entry of entriesOf(join(folder, path))) {
      const inner = join(path, entry.name)
      if (entry.isDirectory()) {
        if (!entry.name.startsWith('.') && !PASSED_OVER.has(entry.name)) add(inner, isNew)
      } else if (isNew) note(path, entry.name)
      else if (isRelevant(entry.name)) digests.set(inner, digestOf(join(folder, inner)))
    }
  }

  function remove(path: string): void {
    watchers.get(path)?.close()
    watchers.delete(path)
  }

  function note(path: string, name: string | null): void {
    if (name === null) return
    const inner = join(path, name)
    if (isRelevant(name)) changed.add(inner)
    else if (!name.startsWith('.') && !PASSED_OVER.has(name) && isFolder(join(folder, inner)))
      add(inner, true)
    clearTimeout(timer)
    timer = setTimeout(report, PAUSE)
  }

  function report(): void {
    const files = [...changed].filter((file) => {
      const [before, now] = [digests.get(file) ?? null, digestOf(join(folder, file))]
      digests.set(file, now)
      return before !== now
    })
    changed.clear()
    if (files.length > 0) listener(files)
  }

  add('', false)
  return {
    close() {
      clearTimeout(timer)
      for (const path of watchers.keys()) remove(path)
    },
  }
}

function isRelevant(name: string): boolean {
  return RELEVANT.test(name) && !IRRELEVANT.test(name)
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    // It is gone again.
    return []
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Null for a file that is gone. */
function digestOf(path: string): string | null {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex')
  } catch {
    return null
  }
}
