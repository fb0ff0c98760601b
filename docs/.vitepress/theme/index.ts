import { useRoute } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { nextTick, onMounted, watch } from 'vue'
import './site.css'

export default {
  ...DefaultTheme,
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
