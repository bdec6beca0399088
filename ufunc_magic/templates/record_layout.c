static const __ufm_item __ufm_items_$k[] = {$items};
static const __ufm_leaf __ufm_leaves_$k[] = {$leaves};
