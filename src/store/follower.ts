/**
 * A follower waits for the task that holds its key to end, and takes the key over then. Until that time its key is stored
 * with a mark in front that no task's name begins with, so that one key has one holder and one follower at most.
 */
const MARK = '>'

/** Of a new task: it waits for the holder of its key to end. */
export interface Follows {
  follows?: boolean
}

/** How soon a follower that is due looks again while the one before it is unfinished. */
export const FOLLOW_MS = 250

/** Throttles that are over and that a new one takes away, at most. */
export const THROTTLES_PRUNED_MAX = 10

export function followerKey(key: string): string {
  return MARK + key
}

export function isFollower(key: string | null): key is string {
  return key?.startsWith(MARK) ?? false
}

/** The key that it waits for. */
export function withoutMark(key: string): string {
  return isFollower(key) ? key.slice(MARK.length) : key
}

/** In SQL; on PostgreSQL the mark is in `active_key` alone. */
export const IS_FOLLOWER = `active_key LIKE '${MARK}%'`
/** In SQL. What is finished waits for nobody: its key is stored as any other. */
export const KEY_WITHOUT_MARK = `ltrim(key, '${MARK}')`
/** The same of `active_key`. */
export const ACTIVE_KEY_WITHOUT_MARK = `ltrim(active_key, '${MARK}')`
