/**
 * Whether a path fits a pattern: `*` and `?` stay within a name, `**` as a name stands for any folders. A pattern
 * without "/" is for the name, in any folder. Time grows with the product of both lengths, whatever the pattern.
 */
export function matchesGlob(path: string, pattern: string): boolean {
  const names = namesOf(path)
  if (!pattern.includes('/')) return matchesName(names.at(-1) ?? '', pattern)
  return matchesSequence(names, namesOf(pattern), {
    isWild: (part) => part === '**',
    fits: matchesName,
  })
}

function namesOf(path: string): readonly string[] {
  return path.replace(/^\//, '').split('/')
}

function matchesName(name: string, pattern: string): boolean {
  return matchesSequence(Array.from(name), Array.from(pattern), {
    isWild: (part) => part === '*',
    fits: (character, part) => part === '?' || part === character,
  })
}

interface Parts {
  /** Stands for any number of items. */
  isWild(part: string): boolean
  fits(item: string, part: string): boolean
}

/** After a mismatch only the last wildcard takes one item more: earlier ones can gain nothing by taking more. */
function matchesSequence(items: readonly string[], pattern: readonly string[], parts: Parts): boolean {
  let item = 0
  let part = 0
  let wildPart = -1
  let wildItem = 0
  while (item < items.length) {
    const wanted = pattern[part]
    if (wanted !== undefined && parts.isWild(wanted)) {
      wildPart = part++
      wildItem = item
    } else if (wanted !== undefined && parts.fits(items[item] ?? '', wanted)) {
      item++
      part++
    } else if (wildPart >= 0) {
      part = wildPart + 1
      item = ++wildItem
    } else {
      return false
    }
  }
  return pattern.slice(part).every((rest) => parts.isWild(rest))
}
