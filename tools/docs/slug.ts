/** The anchor of a title, as code hosts make it: links work there and on the site. */
export function slug(title: string): string {
  return title
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')
}
