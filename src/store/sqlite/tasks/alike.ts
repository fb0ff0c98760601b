/** Neighbours that are alike, together: one statement serves them all, at half the cost of one by one. */
export function alikeInARow<T>(items: readonly T[], alike: (one: T, next: T) => boolean): T[][] {
  const rows: T[][] = []
  let row: T[] | undefined
  for (const item of items) {
    if (row !== undefined && alike(row[0]!, item)) row.push(item)
    else {
      row = [item]
      rows.push(row)
    }
  }
  return rows
}
