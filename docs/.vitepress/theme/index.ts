import { useRoute } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { h, nextTick, onMounted, watch } from 'vue'
import concept from '../../images/concept.svg'
import './site.css'

const CONCEPT =
  'Your app enqueues tasks or writes rows in your database. Workers claim them, run your code and store the results. ' +
  'A supervisor keeps the workers alive and serves the dashboard.'

export default {
  ...DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'home-hero-image': () => h('img', { class: 'concept', src: concept, alt: CONCEPT }),
    }),
  setup() {
    const route = useRoute()
    onMounted(improve)
    watch(() => route.path, improve)
  },
}

/** What screen readers miss in the theme. */
async function improve(): Promise<void> {
  await nextTick()
  // They jump to the main part of a page, and the landing page names none.
  document.querySelector('.VPHome')?.setAttribute('role', 'main')
}
